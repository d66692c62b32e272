// The module that a test file imports instead of tap when it shares its process. Each URL with another query is another
// instance of this module. See scripts/test-batch.js.
export default globalThis[Symbol.for('scopegate.test-of-file')]
