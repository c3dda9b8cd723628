// The screens on the README, on the pages of the tutorial, and on some of those that say how to operate. A screen is a `text` block below a comment
// `<!-- screen -->`. It shows what the terminal shows after the `sh` block above it has run. The comment may
// cut the screen: `<!-- screen: FIRST … LAST -->` names a text of the first and of the last line that is
// shown, and `…` before FIRST or after LAST is a line of the block. `<!-- screen of a pipe -->` is the output
// of the same command to a pipe. Of the blocks without a screen, only those run that make files.
// The commands run in a pseudo-terminal of Python 3, in a home folder of their own, on a system that
// `beaver up` starts there with the simulated model.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, existsSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { reportCommand } from '../start.mjs'
import { root } from './layout.mjs'

/** The pages with screens. Each goes on in the home folder of the one before. */
const paths = [
  'docs/tutorial/1-first-task.md',
  'docs/how-to/operate/one-machine.md',
  'docs/how-to/operate/find-out.md',
  'docs/how-to/audit.md',
  'docs/how-to/bound-spending.md',
  'docs/tutorial/2-first-skill.md',
  'docs/tutorial/3-first-tool.md',
  'README.md',
  'docs/tutorial/4-first-program.md',
]

interface Screen {
  /** Where it is, as `path:line`. */
  readonly at: string
  readonly ofPipe: boolean
  readonly cut: string
  readonly shown: string
  /** The same, as it is now. */
  readonly taken: string
}

export interface PageWithScreens {
  readonly path: string
  /** With the screens as they are now. */
  readonly text: string
  /** The screens that have another shape than those on the page. */
  readonly drifted: readonly Screen[]
}

/** Takes the screens of all pages. */
export async function takeScreens(): Promise<PageWithScreens[]> {
  const terminal = new Terminal()
  const pages: PageWithScreens[] = []
  try {
    for (const path of paths) {
      const text = readFileSync(join(root, path), 'utf8')
      const screens = await screensOf(path, text, terminal)
      let next = 0
      const now = text.replace(blocks, (block: string, ...found: unknown[]) => {
        const { screen, content = '', fence = '' } = found.at(-1) as Partial<Record<string, string>>
        if (screen === undefined) return block
        return block.slice(0, -(content + fence).length) + (screens[next++]?.taken ?? '') + fence
      })
      const drifted = screens.filter(({ shown, taken }) => shapeOf(shown) !== shapeOf(taken))
      pages.push({ path, text: now, drifted })
    }
  } finally {
    await terminal.close()
  }
  return pages
}

/** A fenced block with its comment, if it is a screen. */
const blocks =
  /(?:^<!-- (?<screen>screen)(?<ofPipe> of a pipe)?(?:: (?<cut>.+))? -->\n\n)?^(?<fence>`{3,})(?<language>\w+)\n(?<content>[^]*?\n)\k<fence>$/gm

/** Does what the page says. What goes to a pipe runs at the end: the page shows the tasks of the terminal. */
async function screensOf(path: string, text: string, terminal: Terminal): Promise<Screen[]> {
  const found: (Omit<Screen, 'taken'> & { readonly command: string })[] = []
  const outputs = new Map<string, string>()
  let command = ''
  for (const { groups = {}, index } of text.matchAll(blocks)) {
    const { screen, language, content = '', cut = '', ofPipe } = groups
    if (language === 'sh') {
      command = content.trimEnd()
      if (/^(?:mkdir|cat) /.test(command)) await terminal.run(command)
      // A system reads its configuration once, and a program starts its own system.
      if (/beaver\.config\.json|@beaver\/service/.test(command)) await terminal.stopSystem()
    }
    if (screen === undefined) continue
    const at = `${path}:${text.slice(0, index).split('\n').length}`
    found.push({ at, ofPipe: ofPipe !== undefined, cut, shown: content, command })
    if (ofPipe === undefined && !outputs.has(command)) outputs.set(command, await terminal.take(command))
  }
  const screens: Screen[] = []
  for (const { command: typed, ...each } of found) {
    const piped = `${typed} | cat`
    if (each.ofPipe && !outputs.has(piped)) outputs.set(piped, await terminal.take(piped))
    screens.push({ ...each, taken: partOf(outputs.get(each.ofPipe ? piped : typed) ?? '', each) })
  }
  return screens
}

function partOf(output: string, { at, cut }: Pick<Screen, 'at' | 'cut'>): string {
  const lines = output.split('\n')
  if (cut === '') return `${lines.join('\n').trim()}\n`
  const pieces = cut.split('…').map((piece) => piece.trim())
  const [first = '', last = first] = pieces.filter((piece) => piece !== '')
  const from = lines.findIndex((line) => line.includes(first))
  const to = lines.findIndex((line, index) => index >= from && line.includes(last))
  if (from === -1 || to === -1) throw new Error(`${at}: no line from "${first}" to "${last}" in\n${output}`)
  const left = (piece: string | undefined): string[] => (piece === '' ? ['…'] : [])
  return [...left(pieces[0]), ...lines.slice(from, to + 1), ...left(pieces.at(-1)), ''].join('\n')
}

/** Figures, times and ids that differ from run to run, or with what Beaver brings along. */
const variable: readonly (readonly [RegExp, string])[] = [
  [/\b(task|daemon)_01\w*…?/g, '$1_ID'],
  [/\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b/g, 'HASH'],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'MOMENT'],
  [/\b\d+ of \d+(?= checkpoints\b)/g, 'N of N'],
  [/(?<=127\.0\.0\.1:)\d+/g, 'PORT'],
  [/\b\d\d:\d\d:\d\d\b/g, 'CLOCK'],
  [/(?:\b\d[\d.]* (?:ms|s|min|h)\b ?)+/g, 'TIME '],
  [
    /\b\d+(?:,\d{3})+\b|\b\d+(?= (?:tokens|in|out|tools|events|messages|verified)\b)|(?<=\b(?:event|message|to) )\d+/g,
    'N',
  ],
  // The parts of prompts, and the estimate and the count before them.
  [/(?<=(?:tools|skills|routing|base|session|execution|message)\s+)\d+(?=[,\s])/g, 'N'],
  [/\b(?:\d+|N) +(?:\d+|N)(?= +(?:tools|skills|message|base) )/g, 'N N'],
  [/\s+/g, ' '],
]

/** A text without what differs from run to run, and without the spaces and line ends that follow from it. */
const shapeOf = (text: string): string =>
  variable.reduce((shape, [pattern, name]) => shape.replace(pattern, name), text)

/** A terminal of 100 columns in a home folder of its own. */
class Terminal {
  #home = realpathSync(mkdtempSync(join(tmpdir(), 'beaver-screens-')))
  #system: ChildProcess | null = null

  /** What the terminal shows after a command. Its system runs, if the command says that it starts one. */
  async take(command: string): Promise<string> {
    const typed = command.replace(/^npm start -- (\S+)$/, (_, folder: string) =>
      ['beaver', ...reportCommand(join(root, folder))].map((word) => `'${word}'`).join(' '),
    )
    if (/ '?--up\b/.test(typed)) await this.#startSystem()
    // The list of tasks may be a moment behind.
    return until(`${command} shows ended tasks`, async () => {
      const shown = shownBy(await this.run(typed)).replaceAll(this.#home, '~')
      return command === 'beaver tasks' && / (?:submitted|running) /.test(shown) ? null : shown
    })
  }

  /** What a shell in the terminal writes to it. */
  async run(command: string): Promise<string> {
    const typed = `stty cols 100 rows 50; ${command}`
    const python =
      'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(["sh", "-c", sys.argv[1]])))'
    const child = this.#spawn('python3', ['-c', python, typed])
    let written = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (written += text))
    await ended(child)
    if (child.exitCode !== 0) throw new Error(`It ended with ${child.exitCode}: ${command}\n${written}`)
    return written
  }

  async #startSystem(): Promise<void> {
    if (this.#system !== null) return
    const child = (this.#system = this.#spawn('beaver', ['up']))
    let said = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (said += text))
    await until('the system is up', () => {
      if (child.exitCode !== null) throw new Error(`"beaver up" ended: ${said}`)
      return said.includes('Ctrl-C stops everything')
    })
  }

  async stopSystem(): Promise<void> {
    const system = this.#system
    this.#system = null
    if (system?.kill('SIGINT') === true) await ended(system)
  }

  async close(): Promise<void> {
    await this.stopSystem()
    rmSync(this.#home, { recursive: true, force: true, maxRetries: 5 })
  }

  #spawn(program: string, args: readonly string[]): ChildProcess {
    const { PATH = '', NODE_COMPILE_CACHE } = process.env
    const folder = join(this.#home, 'hello-beaver')
    return spawn(program, args, {
      cwd: existsSync(folder) ? folder : this.#home,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: {
        HOME: this.#home,
        BEAVER: root,
        PATH: `${join(root, 'bin')}:${PATH}`,
        TERM: 'xterm',
        LANG: 'C.UTF-8',
        NO_COLOR: '1',
        ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
      },
    })
  }
}

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    child.once('error', reject).once('close', () => resolve())
  })

/** What stays on a terminal to which this was written: the cursor moves by the sequences of the live view. */
function shownBy(written: string): string {
  const lines: string[] = ['']
  let row = 0
  let column = 0
  // oxlint-disable-next-line no-control-regex -- the terminal obeys them
  for (const [part, count, move] of written.matchAll(/\u001B\[\??(\d*)([A-Za-z])|\r|\n|[^\u001B\r\n]+/g)) {
    while (lines.length <= row) lines.push('')
    const line = lines[row] ?? ''
    if (move === 'A') row = Math.max(0, row - (Number(count) || 1))
    else if (move === 'B') row += Number(count) || 1
    else if (move === 'K') lines[row] = line.slice(0, column)
    else if (move !== undefined) continue
    else if (part === '\r') column = 0
    else if (part === '\n') row++
    else {
      lines[row] = line.slice(0, column) + part + line.slice(column + part.length)
      column += part.length
    }
  }
  return lines.map((line) => line.trimEnd()).join('\n')
}
