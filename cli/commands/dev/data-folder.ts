/** Where `scopegate dev` keeps its data unless told otherwise: below the folder in which it was typed. */
export const DEVELOPMENT_DATA_FOLDER = '.scopegate'
