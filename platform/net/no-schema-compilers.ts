/**
 * For a Fastify server whose routes have no schemas. The compilers for them are not loaded; a route with one is refused at
 * the start.
 */
export const NO_SCHEMA_COMPILERS = {
  compilersFactory: { buildValidator: compileNothing, buildSerializer: compileNothing },
}

function compileNothing(): never {
  throw new Error('no route of this server has a schema: nothing is there to compile it')
}
