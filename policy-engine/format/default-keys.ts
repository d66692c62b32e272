import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import { ByteSizeText, TimeoutText } from '../../platform/diagnostics/schema/value-schemas.ts'
import {
  Anonymous,
  Authentication,
  Enforce,
  IdleTimeout,
  Mcp,
  RateLimit,
  Retries,
  UpstreamAuth,
} from './common-schemas.ts'
import { CorsEntry } from './cors-entry.ts'
import { HeaderRulesEntry } from './header-schemas.ts'
import { SharedLimitNames } from './shared-limits.ts'

/** Keys that are valid in a route, in the `defaults` of a policy and in a preset. */
export const DEFAULT_KEYS = {
  anonymous: Type.Optional(Anonymous),
  authentication: Type.Optional(Authentication),
  timeout: Type.Optional(TimeoutText('Time to the first byte of the response, retries included.')),
  idleTimeout: Type.Optional(IdleTimeout),
  retries: Type.Optional(Retries),
  rateLimit: Type.Optional(RateLimit),
  sharedLimits: Type.Optional(SharedLimitNames),
  bodyLimit: Type.Optional(ByteSizeText('The largest request body.')),
  websocket: Type.Optional(
    Type.Boolean({
      description:
        'Whether a GET request may upgrade to a WebSocket. bodyLimit then limits a message, and timeout limits the handshake.',
    }),
  ),
  mcp: Type.Optional(Mcp),
  upstreamAuth: Type.Optional(UpstreamAuth),
  headers: Type.Optional(HeaderRulesEntry),
  cors: Type.Optional(CorsEntry),
  enforce: Type.Optional(Enforce),
}
