// Finds the code in Markdown: fences and the lines between them. A fence without an end reaches to the end of
// the text.

/** Returns a function that says of each line whether it is code. It must get all lines in their order. */
export function codeLines(): (line: string) => boolean {
  let fence: string | null = null
  return (line) => {
    const mark = /^\s*(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1]
    const isFence = mark !== undefined && (fence === null || (mark.startsWith(fence) && line.trim() === mark))
    if (isFence) fence = fence === null ? mark : null
    return isFence || fence !== null
  }
}
