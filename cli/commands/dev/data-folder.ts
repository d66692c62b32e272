/** Default data folder of `scopegate dev`, relative to the working folder. */
export const DEVELOPMENT_DATA_FOLDER = '.scopegate'
