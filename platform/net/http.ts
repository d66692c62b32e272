/**
 * The module `node:http`. An `import` statement would evaluate all exports of the module. The export `WebSocket` loads
 * the built-in client of Node.js, which Scopegate does not use. Loading that client takes as long as the rest of the
 * start of Node.js.
 */
export const http = process.getBuiltinModule('node:http')
