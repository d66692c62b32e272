// If a test file shares its process, it imports this module instead of tap. Each URL with another query is another
// instance of this module. See scripts/test-batch.js.
export default globalThis[Symbol.for('scopegate.test-of-file')]
