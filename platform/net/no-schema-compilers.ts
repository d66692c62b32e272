/**
 * Option for a Fastify server whose routes have no schemas. Fastify does not load the schema compilers, and a route
 * with a schema fails at startup.
 */
export const NO_SCHEMA_COMPILERS = {
  compilersFactory: { buildValidator: compileNothing, buildSerializer: compileNothing },
}

function compileNothing(): never {
  throw new Error('this server has no schema compilers: remove the schema of the route')
}
