"""A client of FastMCP with its OAuth helper, which opens the browser and listens for the redirect.

Usage: fastmcp_client.py [CALLBACK_HOST]
"""

import asyncio
import os
import sys
import time

# With `&`, Python does not wait for the end of the browser. FastMCP listens after it opened the browser.
os.environ["BROWSER"] += " %s &"

from fastmcp import Client  # noqa: E402
from fastmcp.client.auth import OAuth  # noqa: E402


async def main() -> None:
    url = os.environ["MCP_URL"]
    oauth = OAuth(url, callback_host=sys.argv[1]) if len(sys.argv) > 1 else OAuth(url)
    async with Client(url, auth=oauth) as client:
        await client.call_tool("list_courses", {"limit": 1})
        for _ in range(2):
            previous = oauth.context.current_tokens.refresh_token
            oauth.context.token_expiry_time = time.time() - 1
            await client.call_tool("list_courses", {"limit": 1})
            assert oauth.context.current_tokens.refresh_token != previous, "the refresh token is not rotated"


asyncio.run(main())
