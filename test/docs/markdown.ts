// Markdown as the documentation's tests read it: its links, and the commands it tells people to type.
// Pure: text in, findings out. What exists is the caller's to say.

export interface Command {
  readonly line: number
  /** As it stands there. */
  readonly text: string
  /** What follows `beaver`. */
  readonly args: readonly string[]
}

interface Line {
  readonly line: number
  readonly text: string
  readonly fenced: boolean
}

/** Relative links and pictures, without their fragment. */
export function relativeLinks(markdown: string): { line: number; target: string; fragment: string | null }[] {
  return linesOf(markdown)
    .filter(({ fenced }) => !fenced)
    .flatMap(({ line, text }) => {
      const prose = text.replace(/`[^`]*`/g, '')
      const found = [
        ...prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g),
        ...prose.matchAll(/^\[[^\]]+\]:\s*<?([^\s>]+)/g),
        ...prose.matchAll(/\b(?:src|href)="([^"]+)"/g),
      ]
      return found
        .map((match) => match[1] ?? '')
        .filter((target) => !/^[a-z][a-z0-9+.-]*:/i.test(target))
        .map((target) => ({
          line,
          target: decodeURI(target.split('#')[0] ?? ''),
          fragment: target.includes('#') ? target.slice(target.indexOf('#') + 1) : null,
        }))
    })
}

/** The fragments that the headings of a page answer to, as GitHub makes them. */
export function headingFragments(markdown: string): Set<string> {
  const fragments = new Set<string>()
  for (const { text, fenced } of linesOf(markdown)) {
    const heading = fenced ? null : /^#{1,6}\s+(.*?)\s*#*$/.exec(text)?.[1]
    if (heading === null || heading === undefined) continue
    const plain = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    let fragment = plain
    for (let n = 1; fragments.has(fragment); n++) fragment = `${plain}-${n}`
    fragments.add(fragment)
  }
  return fragments
}

/** The calls of a program in fenced blocks, and in code within the text when that begins with its name. */
export function commandsOf(markdown: string, program: string): Command[] {
  return joined(linesOf(markdown)).flatMap(({ line, text, fenced }) => {
    const snippets = fenced
      ? [text]
      : [...text.matchAll(/`([^`]+)`/g)]
          .map((match) => match[1] ?? '')
          .filter((code) => code.startsWith(`${program} `))
    return snippets.flatMap((snippet) =>
      callsIn(snippet, program).map((args) => ({ line, text: snippet.trim(), args })),
    )
  })
}

/** The rows of the tables whose header has these columns, by column. */
export function tableRows(markdown: string, columns: readonly string[]): Record<string, string>[] {
  const cells = (text: string): string[] =>
    text
      .trim()
      .replace(/^\||\|$/g, '')
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replace(/\\\|/g, '|'))
  const rows: Record<string, string>[] = []
  let inTable = false
  for (const { text, fenced } of linesOf(markdown)) {
    if (fenced || !text.trim().startsWith('|')) inTable = false
    else if (cells(text).join() === columns.join()) inTable = true
    else if (inTable && !/^[\s|:-]+$/.test(text))
      rows.push(Object.fromEntries(cells(text).map((cell, index) => [columns[index] ?? String(index), cell])))
  }
  return rows
}

function linesOf(markdown: string): Line[] {
  let fence: string | null = null
  return markdown.split('\n').map((text, index) => {
    const mark = /^\s*(`{3,}|~{3,})/.exec(text)?.[1]
    if (mark !== undefined && (fence === null || mark.startsWith(fence))) {
      fence = fence === null ? mark : null
      return { line: index + 1, text: '', fenced: true }
    }
    return { line: index + 1, text, fenced: fence !== null }
  })
}

/** Lines of a block that end with `\` go on in the next. */
function joined(lines: readonly Line[]): Line[] {
  const whole: Line[] = []
  for (const line of lines) {
    const last = whole.at(-1)
    if (last?.fenced === true && line.fenced && last.text.endsWith('\\'))
      whole[whole.length - 1] = { ...last, text: `${last.text.slice(0, -1)} ${line.text.trim()}` }
    else whole.push(line)
  }
  return whole
}

/** What follows each call of the program in one line of shell. */
function callsIn(text: string, program: string): string[][] {
  const calls: string[][] = []
  let call: string[] | null = null
  let mayStart = true
  for (const { word, operator } of shellWords(text.replace(/^\s*[$#>]\s+/, ''))) {
    if (operator) {
      call = null
      mayStart = true
    } else if (call !== null) call.push(word)
    else if (mayStart && (word === program || word.endsWith(`/${program}`))) calls.push((call = []))
    else
      mayStart =
        mayStart &&
        (/^[A-Z_][A-Z0-9_]*=/.test(word) ||
          [
            'npx',
            'pnpm',
            'exec',
            'sudo',
            'time',
            'watch',
            'env',
            'sh',
            'if',
            'while',
            'until',
            'do',
            'then',
            '!',
          ].includes(word))
  }
  return calls
}

function shellWords(text: string): { word: string; operator: boolean }[] {
  const words: { word: string; operator: boolean }[] = []
  for (const match of text.matchAll(/(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\|&;<>()])+|[|&;<>()]+/g)) {
    const word = match[0]
    if (word.startsWith('#')) break
    words.push({ word: word.replace(/["']/g, ''), operator: /^[|&;<>()]/.test(word) })
  }
  return words
}
