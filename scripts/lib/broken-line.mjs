// Breaks the lines of the set-up between words. It cannot use the packages, which the set-up only brings.

/**
 * A line for a terminal, which would break it anywhere. A pipe gets it as it is.
 * @param {string} line
 * @param {{ isTTY?: boolean, columns?: number }} stream
 */
export function brokenBetweenWords(line, { isTTY, columns = 80 }) {
  if (isTTY !== true) return line
  const lines = []
  let part = ''
  // A figure keeps its unit.
  for (const word of line.split(/ (?!s\))/)) {
    const longer = part === '' ? word : `${part} ${word}`
    if (part !== '' && longer.length > columns) lines.push(part)
    part = part !== '' && longer.length > columns ? `  ${word}` : longer
  }
  return [...lines, part].join('\n')
}
