// The system of the smoke tests: one for each worker, made by the first file that asks for it. Other files
// and other tests use it before and after each test, so a test has tasks, sessions and users of its own, and
// says nothing of all tasks.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  simulatedModelName,
  type SimulatedModelProcess,
  startSimulatedModelProcess,
} from '@beaver/simulated-model'
import { until } from '@beaver/testing'
import { placeIn, type Ran } from './cli.ts'
import type { FakeReply, SeenRequest } from './fake-provider.ts'
import { keptCommands } from './kept-system.ts'
import { keep } from './leftovers.ts'
import { type ProtocolScene, protocolScene } from './protocol-scene.ts'

export interface SmokeScene extends ProtocolScene {
  /**
   * The folder of the tutorial with the files that its pages make. The simulated model answers the tasks of
   * this folder.
   */
  readonly tutorial: string
  /** From now on the model answers by this whatever is asked about a task of this text. */
  script(text: string, answer: (request: SeenRequest) => FakeReply | Promise<FakeReply>): void
  /** Runs a command in the workspace or in another folder. One process runs the commands of a worker. */
  beaver(args: readonly string[], folder?: string): Promise<Ran>
  /**
   * Runs a command that only looks until it succeeds. Before that, a part of a busy system may answer too
   * late for it, or may not know yet.
   */
  look(args: readonly string[], folder?: string): Promise<Ran>
  /** Waits until the read model knows that the task has ended, or that it waits for a person. */
  known(taskId: string): Promise<void>
}

const root = new URL('../../', import.meta.url).pathname
const mcpServer = join(root, 'packages/mcp/test/fixture-server.ts')
const tutorialFolder = 'hello-beaver'

const keysOf = (workspace: string): string => join(workspace, '.beaver', 'keys')

/** The text of a page of the documentation. */
export const page = (path: string): Promise<string> => readFile(join(root, path), 'utf8')

export const smokeScene = (): Promise<SmokeScene> => keep('smoke scene', makeScene)

async function makeScene(): Promise<SmokeScene> {
  const scripts = new Map<string, Parameters<SmokeScene['script']>[1]>()
  const scene = await protocolScene({
    config: {
      mcp: { stub: { command: process.execPath, args: [mcpServer], permission: 'allow', trusted: true } },
    },
    tools: [`${tutorialFolder}/tools.ts`],
    // With the keys of the operator, whom the command line trusts.
    projector: (workspace) => ({
      env: { BEAVER_KEYS: keysOf(workspace) },
      config: { checkpoints: { every_ms: 5_000 } },
    }),
    prepare: (workspace) => makeTutorial(join(workspace, tutorialFolder)),
    answer(request) {
      if (isOfTutorial(request)) return askSimulated(request)
      for (const [text, script] of scripts)
        if (request.messages.some(({ content }) => content?.includes(text))) return script(request)
      return undefined
    },
  })
  const { system } = scene
  const { cwd, env } = placeIn(scene.server, system, {
    HOME: system.workspace,
    BEAVER_KEYS: keysOf(system.workspace),
  })
  const beaver: SmokeScene['beaver'] = async (args, folder = cwd) =>
    (await keptCommands()).run(args, { cwd: folder, env: { ...env, BEAVER_TRUST: '1' } })
  return {
    ...scene,
    tutorial: join(system.workspace, tutorialFolder),
    script: (text, answer) => void scripts.set(text, answer),
    beaver,
    async look(args, folder) {
      let ran = await beaver(args, folder)
      // The one who looks tells how it failed at last.
      await until(
        'the command succeeds',
        async () => ran.exit === 0 || ((ran = await beaver(args, folder)), false),
      ).catch(() => {})
      return ran
    },
    async known(taskId) {
      const look = async (): Promise<boolean> => {
        const { task } = await system.client.query('task', { task_id: taskId }).catch(() => ({ task: null }))
        return task !== null && !['submitted', 'running'].includes(task.status)
      }
      await until(`the read model knows how ${taskId} is`, look, { everyMs: 20 })
    },
  }
}

/** What the model is told of a task in this folder, or of the choice between its skills. */
const isOfTutorial = ({ messages }: SeenRequest): boolean =>
  messages.some(({ content }) =>
    new RegExp(`^- workspace: .*/${tutorialFolder}$|^- bed-check: `, 'm').test(content ?? ''),
  )

/** Starts with the first use. A test that needs it asks for it before anything else, so that it is kept. */
export const simulatedModel = (): Promise<SimulatedModelProcess> =>
  // A busy machine may need longer than the model gives itself.
  keep('simulated model', () =>
    until('the simulated model has started', () => startSimulatedModelProcess().catch(() => null)),
  )

/** The answer of the simulated model to a request for another model. */
async function askSimulated({ body }: SeenRequest): Promise<FakeReply> {
  const { url } = await simulatedModel()
  const request = { ...(JSON.parse(body) as object), model: simulatedModelName }
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(request) })
  return {
    status: answer.status,
    headers: { 'content-type': answer.headers.get('content-type') ?? '' },
    body: await answer.text(),
  }
}

/** Makes the files that the tutorial makes, in a folder that must be called as the tutorial calls it. */
async function makeTutorial(folder: string): Promise<void> {
  for (const name of ['1-first-task', '2-first-skill', '3-first-tool']) {
    const text = await page(`docs/tutorial/${name}.md`)
    const written = [
      ...text.matchAll(
        /^cat > (?<path>\S+) <<'END'\n(?<content>[^]*?\n)END$|^echo '(?<line>.*)' > (?<file>\S+)$/gm,
      ),
    ]
    for (const { path, content, line, file } of written.map(({ groups }) => groups ?? {})) {
      const at = join(folder, path ?? file ?? '')
      await mkdir(dirname(at), { recursive: true })
      await writeFile(at, content ?? `${line}\n`)
    }
  }
}
