// The redirect URI of the sign-in. Sends the response of the authorization server to the API reference, which checks the
// response. The code is useless without the PKCE verifier, which only the API reference has.
const parameters = new URLSearchParams(location.search)
history.replaceState(null, '', location.pathname)

const channel = new BroadcastChannel('scopegate-sign-in')
const response = Object.fromEntries(
  ['state', 'code', 'iss', 'error', 'error_description'].map((name) => [
    name,
    parameters.get(name) ?? undefined,
  ]),
)
channel.onmessage = ({ data }) => {
  if (data?.received === response.state) close()
}
channel.postMessage({ response })
