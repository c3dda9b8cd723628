// What somebody does who has only the tarballs: install them into an empty folder, make a project, run its
// tests and its program, start Beaver and give it a task. Packages of others come from the registry. The
// result is a transcript with times, sizes and counts.
import { lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join, relative } from 'node:path'
import { packageManagerEnv, run } from './run.mjs'

/** What an installation may be at most: packages, and megabytes on the disk. */
const packagesMax = 60
const megabytesMax = 60
const commandMsMax = 300_000

export interface NewUser {
  /** An empty folder. */
  readonly folder: string
  readonly tarballs: readonly string[]
  /** The Node.js of the user. */
  readonly node: string
  readonly env: NodeJS.ProcessEnv
}

/** @throws {Error} with the output of the command that failed */
export async function asNewUser({ folder, tarballs, node, env }: NewUser): Promise<string> {
  const lines: string[] = []
  const home = join(folder, 'home')
  const work = join(folder, 'work')
  for (const each of [home, work]) mkdirSync(each)
  const {
    OPENAI_API_KEY: _key,
    OPENAI_BASE_URL: _url,
    ...kept
  } = packageManagerEnv({
    npm_config_userconfig: join(homedir(), '.npmrc'),
    ...env,
  })
  const own = Object.fromEntries(Object.entries(kept).filter(([name]) => !/^(?:BEAVER|NATS|XDG)_/.test(name)))
  const place = {
    ...own,
    HOME: home,
    NO_COLOR: '1',
    PATH: [dirname(node), env['PATH'] ?? ''].join(delimiter),
  }
  const shell = async (cwd: string, command: string, ...args: readonly string[]): Promise<string> => {
    const since = performance.now()
    const { code, output, missing, timedOut } = await run(command, args, {
      cwd,
      env: place,
      signal: AbortSignal.timeout(2 * commandMsMax),
      timeoutMs: commandMsMax,
    })
    const typed = [command, ...args.map(shown)].join(' ')
    if (code !== 0)
      throw new Error(
        `$ ${typed}\n${missing ? `${command} is not on PATH` : timedOut ? `took more than ${commandMsMax / 1000} s\n${output}` : output}`,
      )
    lines.push(`$ ${typed}    # ${seconds(since)} s in ${relative(folder, cwd)}`, output.trim(), '')
    return output
  }
  const shown = (word: string): string =>
    tarballs.includes(word) ? relative(dirname(word), word) : /[\s`"]/.test(word) ? `'${word}'` : word

  await shell(work, 'npm', 'install', ...tarballs)
  lines.push(sizeOf(work), '')
  await shell(work, 'npx', 'beaver', 'init', 'my-team')
  const project = join(work, 'my-team')
  await shell(project, 'npm', 'install')
  await shell(project, 'npm', 'test')
  await shell(project, 'npm', 'run', 'check')
  await shell(project, 'npm', 'start')
  await withSystem(project, place, lines, async () => {
    await shell(project, 'npx', 'beaver', 'run', '--skill', 'release-plan', 'How long do we have?')
    await shell(project, 'npx', 'beaver', 'tasks')
  })
  return lines.join('\n')
}

/** Runs `beaver up` while `act` runs. */
async function withSystem(
  cwd: string,
  env: NodeJS.ProcessEnv,
  lines: string[],
  act: () => Promise<void>,
): Promise<void> {
  const since = performance.now()
  const stop = new AbortController()
  const up = Promise.withResolvers<void>()
  let output = ''
  const ended = run('npx', ['beaver', 'up', '--trust'], {
    cwd,
    env,
    signal: stop.signal,
    timeoutMs: commandMsMax,
    onOutput(text) {
      output += text
      if (output.includes('To log in:')) up.resolve()
    },
  }).then(
    () => up.reject(new Error(`$ npx beaver up --trust\n${output}`)),
    () => {},
  )
  try {
    await up.promise
    lines.push(
      `$ npx beaver up --trust &    # up after ${seconds(since)} s in ${relative(dirname(dirname(cwd)), cwd)}`,
      output.trim(),
      '',
    )
    await act()
  } finally {
    stop.abort()
    await ended
  }
}

/**
 * The packages and the size of what npm installed.
 *
 * @throws {Error} if it is more than it may be
 */
function sizeOf(folder: string): string {
  const modules = join(folder, 'node_modules')
  const lock = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as {
    packages: Record<string, unknown>
  }
  const packages = Object.keys(lock.packages).length
  const megabytes = Math.ceil(bytesIn(modules) / 1_000_000)
  const text = `node_modules: ${packages} packages, ${megabytes} MB`
  if (packages >= packagesMax || megabytes >= megabytesMax)
    throw new Error(`${text}. It should be less than ${packagesMax} packages and ${megabytesMax} MB.`)
  return text
}

const bytesIn = (path: string): number => {
  const { blocks } = lstatSync(path)
  return (
    blocks * 512 +
    (lstatSync(path).isDirectory()
      ? readdirSync(path).reduce((sum, name) => sum + bytesIn(join(path, name)), 0)
      : 0)
  )
}

const seconds = (since: number): string => ((performance.now() - since) / 1000).toFixed(1)
