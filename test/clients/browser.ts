import { openBrowser } from '../fixtures/open-browser.ts'
import { signIn } from '../fixtures/sign-in.ts'

// The browser of the person. Usage: browser.ts URL. Signs in, allows access, and prints the redirect URL. If the
// redirect URL is on this computer, requests the URL, because a client can listen there.
const [url = ''] = process.argv.slice(2)
const redirect = await signIn(openBrowser(url), url)
process.stdout.write(`${redirect.href}\n`)
if (redirect.protocol === 'http:') await fetch(redirect).catch(() => undefined)
