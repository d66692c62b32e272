/**
 * The colors of the pages of all services. The contrast of text is at least 4.5:1 in the light and in the dark color
 * scheme.
 */
export const PAGE_COLORS = `
:root {
  color-scheme: light dark;
  --ground: #f3f4f7; --card: #ffffff; --line: #d9dce3; --text: #1b1f27; --quiet: #565e6c;
  --accent: #2450c8; --on-accent: #ffffff; --accent-over: #1b3f9f;
  --notice: #fff6e0; --notice-line: #d9a520; --notice-text: #5a4100;
  --wrong: #fdecec; --wrong-line: #c62f2f; --wrong-text: #8a1414;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12151b; --card: #1b2029; --line: #3a4250; --text: #eceff4; --quiet: #a9b2c0;
    --accent: #9db8ff; --on-accent: #0d1730; --accent-over: #bccfff;
    --notice: #33290f; --notice-line: #b98d1f; --notice-text: #f5dfa5;
    --wrong: #3a1a1c; --wrong-line: #e06767; --wrong-text: #ffc4c4;
  }
}
`
