// `pnpm docs:pictures`: takes the pictures of the console in `docs/images`: each screen in both themes and on a
// small screen, and a team at work as a sequence. It shows the agents of two examples with the simulated model,
// on a system that `beaver up` starts in a folder of its own. Their texts need a font with Chinese characters. `pnpm docs:pictures tasks inbox` takes only these.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { chromiumAdvice, findChromium } from './lib/chromium.mjs'
import { root } from './lib/layout.mjs'

const images = join(root, 'docs', 'images')

/** What a picture shows: its name, the page, and what is done on the page before. */
interface Screen {
  readonly name: string
  readonly path: string
  readonly first?: (page: Page) => Promise<unknown>
}

/** Requests of people who use the two examples. The simulated model calls the tool that a request names. */
const requests = {
  finance: {
    task: '比较 MGM China 和 Galaxy Entertainment 的 2024 年业绩，输出中文财务报告',
    skill: 'finance-comparison',
    title: 'Compare MGM China and Galaxy, 2024',
  },
  match: { task: '分析韩国队今早的比赛表现', skill: 'match-analysis', title: 'The match of this morning' },
  folder: { task: 'Report on this folder', skill: 'folder-report', title: 'What is in this folder' },
  write: {
    task: 'Call `write_file` with {"path":"notes/summary.md","content":"# Summary\\n\\n- Galaxy, net revenue: 14,260\\n"}',
    title: 'Write the summary',
    approvals: 'wait',
  },
  ask: {
    task: 'Call `ask_user` with {"question":"Which year do you mean?","options":["2023","2024"]}',
    title: 'Compare the last two years',
  },
  poor: {
    task: 'Report on this folder',
    skill: 'folder-report',
    title: 'A report for a small budget',
    budget: { tokens: 4_000 },
  },
  broken: {
    task: 'Say hello',
    title: 'An answer of another shape',
    output_schema: { type: 'object', properties: { year: { type: 'integer' } }, required: ['year'] },
  },
}

type Name = keyof typeof requests
type Ids = Readonly<Record<Name, string>>

const screensOf = (ids: Ids): readonly Screen[] => [
  { name: 'tasks', path: '/console/' },
  { name: 'task-tree', path: `/console/tasks/${ids.match}` },
  { name: 'task-graph', path: `/console/tasks/${ids.match}?view=graph` },
  { name: 'task-timeline', path: `/console/tasks/${ids.finance}?view=timeline` },
  { name: 'task-events', path: `/console/tasks/${ids.finance}?view=events&event=2` },
  { name: 'task-failed', path: `/console/tasks/${ids.broken}` },
  {
    name: 'inbox',
    path: '/console/inbox',
    first: (page) => page.getByRole('row', { name: /notes\/summary/ }).click(),
  },
  { name: 'start', path: '/console/start' },
  { name: 'library', path: '/console/library' },
  { name: 'system', path: '/console/system' },
  { name: 'usage', path: '/console/system/usage' },
  { name: 'failures', path: '/console/system/failures' },
  { name: 'sessions', path: '/console/sessions' },
  { name: 'memory', path: '/console/memory' },
]

const home = realpathSync(mkdtempSync(join(tmpdir(), 'beaver-pictures-')))
const team = join(home, 'team')
const children: ChildProcess[] = []

/** The two examples in one folder, with a price for the simulated model, and a system on it. */
async function startSystem(): Promise<string> {
  mkdirSync(join(team, 'skills'), { recursive: true })
  for (const [example, folders] of [
    ['finance-comparison', ['site', 'tools.ts', 'skills']],
    ['match-analysis', ['match', 'skills']],
  ] as const)
    for (const name of folders)
      cpSync(join(root, 'examples', example, name), join(team, name), { recursive: true })
  const config = {
    tools: ['tools.ts'],
    gateway: { port: 0 },
    prices: { 'beaver-simulated-1': { input: 1.25, cached_input: 0.125, output: 10 } },
  }
  writeFileSync(join(team, 'beaver.config.json'), JSON.stringify(config))
  const child = spawn(join(root, 'bin', 'beaver'), ['up', '--trust'], {
    cwd: team,
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  return until('the system is up', () => {
    if (child.exitCode !== null) throw new Error(`"beaver up" ended: ${said}`)
    return said.includes('Ctrl-C stops everything') && /gateway +(http:\S+?),/.exec(said)?.[1]
  })
}

interface Taking {
  readonly url: string
  /** The names of the pictures to take. Empty: all. */
  readonly wanted: readonly string[]
}

async function takeAll(browser: Browser, { url, wanted }: Taking): Promise<void> {
  const token = /beaver_\S+/.exec(beaver('token', 'create', 'pictures', '--role', 'admin'))?.[0] ?? ''
  const ask = async (path: string, body?: object): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${url}/api/v1/${path}`, {
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
    return (await answer.json()) as Record<string, unknown>
  }
  const submit = async (name: Name): Promise<string> =>
    String((await ask('tasks', requests[name]))['task_id'])
  const settled = (id: string): Promise<unknown> =>
    until(`${id} has ended or waits`, async () => {
      const [found] = (await ask(`tasks?task_ids=${id}`))['tasks'] as { status: string }[]
      return found !== undefined && !/^(?:submitted|running)$/.test(found.status)
    })
  const open = async (theme: 'light' | 'dark', width: number): Promise<Page> => {
    const context = await browser.newContext({
      baseURL: url,
      colorScheme: theme,
      viewport: { width, height: width < 600 ? 760 : 800 },
      reducedMotion: 'reduce',
    })
    await context.addInitScript((kept: string) => localStorage.setItem('token', kept), token)
    return context.newPage()
  }
  const isWanted = (name: string): boolean => wanted.length === 0 || wanted.includes(name)

  const ids = {} as Record<Name, string>
  for (const name of Object.keys(requests) as Name[]) {
    if (name === 'finance' && isWanted('team'))
      ids.finance = await takeTeam(await open('light', 1_280), submit)
    else ids[name] = await submit(name)
    await settled(ids[name])
  }
  for (const { name, path, first } of screensOf(ids)) {
    if (!isWanted(name)) continue
    for (const [theme, width] of [
      ['light', 1_280],
      ['dark', 1_280],
      ['light', 380],
    ] as const) {
      const page = await open(theme, width)
      await page.goto(path)
      await page.locator('main h1, main h2, main [role=grid]').first().waitFor()
      await first?.(page)
      await page.locator('.busy:not(.on)').waitFor({ state: 'attached' })
      await page.getByText('Loading …').waitFor({ state: 'detached' })
      keep(`${name}-${width === 380 ? 'small' : theme}`, await page.screenshot())
      await page.context().close()
    }
    process.stdout.write(`docs/images/${name}-….png are taken.\n`)
  }
}

/** A picture with few colours is a third as large; it is made by pngquant, if this machine has it. */
function keep(name: string, picture: Buffer): void {
  const path = join(images, `console-${name}.png`)
  writeFileSync(path, picture)
  spawnSync('pngquant', ['--force', '--strip', '--speed', '1', '--ext', '.png', path])
}

/** So many pictures show a team at work. */
const teamPictures = 4

/** A team from its first agent to its report: four of the pictures that the page shows while it works. */
async function takeTeam(page: Page, submit: (name: 'finance') => Promise<string>): Promise<string> {
  await page.goto('/console/')
  const id = await submit('finance')
  await page.goto(`/console/tasks/${id}?view=graph`)
  const pictures: Buffer[] = []
  const state = page.locator('main header').first()
  let isOver = false
  while (!isOver) {
    isOver = (await state.innerText()).includes('completed')
    if (isOver) await page.locator('.markdown').waitFor()
    pictures.push(await page.screenshot())
  }
  await page.context().close()
  for (let at = 0; at < teamPictures; at++) {
    const shown = pictures[Math.round((at * (pictures.length - 1)) / (teamPictures - 1))]
    if (shown !== undefined) keep(`team-${at + 1}`, shown)
  }
  process.stdout.write('docs/images/console-team-….png are taken.\n')
  return id
}

const environment = (): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: home,
  LANG: 'C.UTF-8',
})

const beaver = (...args: readonly string[]): string =>
  execFileSync(join(root, 'bin', 'beaver'), args, { cwd: team, env: environment(), encoding: 'utf8' })

const stop = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || !child.kill('SIGINT')) resolve()
    else child.once('close', () => resolve())
  })

try {
  const executablePath = findChromium(process.env)
  if (executablePath === null) throw new Error(chromiumAdvice)
  const url = await startSystem()
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    await takeAll(browser, { url, wanted: process.argv.slice(2) })
  } finally {
    await browser.close()
  }
} finally {
  for (const child of children) await stop(child)
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
}
