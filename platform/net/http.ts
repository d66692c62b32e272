/**
 * The module `node:http`. An `import` of it reads everything that it exports, and with WebSocket the whole of the client that Node.js
 * has built in, of which nothing is used here: as long as all the rest of Node.js takes to start.
 */
export const http = process.getBuiltinModule('node:http')
