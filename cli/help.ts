/** What `scopegate --help` prints. */
export const HELP = `scopegate - one address in front of many APIs: validates every access token and enforces the scopes that policies declare

Usage
  scopegate dev [--config DIR] [--policies DIR] [--data DIR]
      Runs everything on this machine: the gateway, the authorization server, the demo API. For development only.
      PORT chooses the gateway's port (8080). Data is kept in .scopegate where you stand, unless --data names a folder.

  scopegate gateway [--config DIR]
  scopegate authorization-server [--config DIR]
      Runs one service, configured by DIR/gateway.yaml or DIR/authorization-server.yaml.
      DIR is SCOPEGATE_CONFIG_DIR, else the configuration in this package.
      Every value can be set from outside: SCOPEGATE_LISTEN__PORT=8443 is listen.port.

  scopegate check [--config DIR] [--policies DIR] [--notes]
      Reads configuration and policies as the gateway would and names every problem with file, line and column.
      Notes of one kind share a line; --notes shows each.

  scopegate account add NAME [--email ADDRESS] [--full-name TEXT] [--config DIR] [--data DIR]
      Adds a person who may sign in at the authorization server; reads the password from standard input.
      Without --config and SCOPEGATE_CONFIG_DIR it is for the server that \`scopegate dev\` runs in the same folder.

  scopegate --version
  scopegate --help

Exit codes
  0 done    1 could not start or failed while running    2 wrong usage    3 invalid configuration or policies

Examples
  npx scopegate dev
  scopegate check --policies ./policies
  printf %s "$PASSWORD" | scopegate account add carol --email carol@school.example
`
