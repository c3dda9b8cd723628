// Finds the code in a text of Markdown: fences, and what stands between them. A fence that is never closed
// reaches to the end of the text.

/** A function that is asked line by line whether a line is code. */
export function codeLines(): (line: string) => boolean {
  let fence: string | null = null
  return (line) => {
    const mark = /^\s*(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1]
    const isFence = mark !== undefined && (fence === null || (mark.startsWith(fence) && line.trim() === mark))
    if (isFence) fence = fence === null ? mark : null
    return isFence || fence !== null
  }
}
