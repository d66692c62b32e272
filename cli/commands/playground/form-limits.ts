/** Maximum number of files in the form. */
export const MAX_FILES = 200
/** Maximum length of all texts in the form together. */
export const MAX_CHARACTERS = 512 * 1_024
/** Maximum size of the form, in which one character can take up to 9 bytes. */
export const BODY_LIMIT_BYTES = 4 * 1_048_576
