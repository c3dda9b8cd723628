// The projector as it is: a child process.
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileCache } from './compile-cache.ts'

export interface ProjectorProcess extends AsyncDisposable {
  readonly pid: number
  /** Its folder. */
  readonly home: string
  /** Its database. */
  readonly file: string
  /** What it has written on standard error. */
  readonly stderr: string
}

export interface ProjectorWanted {
  readonly url: string
  readonly namespace: string
  readonly env?: Record<string, string>
  /** The content of its configuration file. */
  readonly config?: object
  /** A folder that exists and stays. Default: a folder of its own, which is gone with it. */
  readonly home?: string
}

/** Starts a projector and waits until it is ready. It is gone when it is disposed of. */
export async function projectorProcess({
  url,
  namespace,
  env = {},
  config,
  home: given,
}: ProjectorWanted): Promise<ProjectorProcess> {
  const home = given ?? (await mkdtemp(join(tmpdir(), 'beaver-projector-')))
  const file = join(home, 'projector.config.json')
  if (config !== undefined) await writeFile(file, JSON.stringify(config))
  const configured = config === undefined ? {} : { BEAVER_CONFIG: file }
  const child = spawn(
    process.execPath,
    [new URL('../../apps/projector/src/main.ts', import.meta.url).pathname],
    {
      cwd: home,
      env: {
        PATH: process.env['PATH'] ?? '',
        ...compileCache,
        NATS_URL: url,
        BEAVER_NAMESPACE: namespace,
        BEAVER_HOME: home,
        ...configured,
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    },
  )
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => void (stderr += text))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve())
    void exited.then(() => reject(new Error('The projector ended before it was ready.')))
  })
  return {
    pid: child.pid ?? 0,
    file: join(home, `projection-${namespace}.db`),
    get stderr() {
      return stderr
    },
    home,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
      if (given === undefined) await rm(home, { recursive: true, force: true })
    },
  }
}
