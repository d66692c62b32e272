/**
 * The module `node:http`. An `import` statement would evaluate all its exports, and `WebSocket` loads the built-in
 * client of Node.js, which is not used here. That takes as long as the rest of the start of Node.js.
 */
export const http = process.getBuiltinModule('node:http')
