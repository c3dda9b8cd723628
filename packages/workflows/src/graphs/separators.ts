// The marks that models write between names: every one that means `->` or `,`. No agent's name can contain
// one.

const arrowText =
  '[\\u2190-\\u21ff\\u2794\\u2798-\\u27af\\u27b1-\\u27be\\u27f0-\\u27ff\\u2900-\\u297f\\u2b00-\\u2b11\\u2b62\\u2b95\\u25b6\\u25b8\\u25ba]\\ufe0f?' +
  // The escapes of HTML and JSON.
  '|[-=~\\u2010-\\u2015\\uff0d]{0,16}(?:[>\\uff1e\\u203a\\u00bb]|&gt;|&#0*62;|\\\\u003[eE])'

export const arrow = new RegExp(arrowText, 'u')
export const arrows = new RegExp(arrowText, 'gu')
export const commas = /[\uff0c\u3001\ufe50\u060c\uff64;\uff1b|&+/]/gu
export const wrappers = /["'`\u2018-\u201d\u300c-\u300f\uff02()[\]{}\uff08\uff09\u3010\u3011]/gu
