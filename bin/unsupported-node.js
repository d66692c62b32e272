/** The first version with `crypto.argon2`. The version must equal `engines` in package.json. */
const REQUIRED = [24, 7]

/**
 * Returns the message for an old Node.js. Returns undefined for a supported version.
 * @param {string} version for example `24.7.0`.
 * @returns {string | undefined}
 */
export function unsupportedNode(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > REQUIRED[0] || (major === REQUIRED[0] && minor >= REQUIRED[1])) return undefined
  return `scopegate: requires Node.js ${REQUIRED.join('.')} or later (found ${version}). Install Node.js from https://nodejs.org. In a checkout, run \`node scripts/set-up.js\` once, and then \`npx scopegate\`, which uses the pinned version.`
}
