// A unified diff of two texts for a person, bounded in work and in length. Equal lines at the start and at
// the end are found first, so a small change to a large file is small. If what is left is too large to
// compare line by line, all its old lines are removed and all its new lines are added: longer, and right.

const contextLines = 3
const comparedLinesMax = 600
const shownLinesMax = 120
const lineCharsMax = 400

export interface LineDiff {
  readonly text: string
  readonly linesLeftOut: number
}

export function lineDiff(before: string, after: string): LineDiff {
  const [old, fresh] = [linesOf(before), linesOf(after)]
  let start = 0
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start++
  let end = 0
  while (
    end < old.length - start &&
    end < fresh.length - start &&
    old[old.length - 1 - end] === fresh[fresh.length - 1 - end]
  )
    end++
  const from = Math.max(0, start - contextLines)
  const changed = changes(old.slice(start, old.length - end), fresh.slice(start, fresh.length - end))
  if (changed.length === 0) return { text: '', linesLeftOut: 0 }
  const tail = old.slice(old.length - end, old.length - end + contextLines)
  const lines = [
    `@@ -${from + 1},${old.length - end - from + tail.length} +${from + 1},${fresh.length - end - from + tail.length} @@`,
    ...old.slice(from, start).map((line) => ` ${line}`),
    ...changed,
    ...tail.map((line) => ` ${line}`),
  ]
  const text = lines
    .slice(0, shownLinesMax)
    .map((line) => (line.length > lineCharsMax ? `${line.slice(0, lineCharsMax)}…` : line))
  return { text: text.join('\n'), linesLeftOut: Math.max(0, lines.length - shownLinesMax) }
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

/** The longest common subsequence decides which lines stay. */
function changes(old: readonly string[], fresh: readonly string[]): string[] {
  if (old.length > comparedLinesMax || fresh.length > comparedLinesMax)
    return [...old.map((line) => `-${line}`), ...fresh.map((line) => `+${line}`)]
  const width = fresh.length + 1
  const longest = new Uint16Array((old.length + 1) * width)
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = fresh.length - 1; j >= 0; j--)
      longest[i * width + j] =
        old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const lines: string[] = []
  for (let i = 0, j = 0; i < old.length || j < fresh.length;) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      lines.push(` ${old[i]}`)
      i++
      j++
    } else if (i < old.length && (j === fresh.length || at(i + 1, j) >= at(i, j + 1)))
      lines.push(`-${old[i++]}`)
    else lines.push(`+${fresh[j++]}`)
  }
  return lines
}
