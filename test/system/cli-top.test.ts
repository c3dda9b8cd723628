// `beaver top` on a pseudo-terminal of 80 columns and 24 rows, and for programs.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cliEntry, cliEnvironment, type CliPlace, placeIn } from '../support/cli.ts'
import { use } from '../support/fake-provider.ts'
import { type OperatedSystem, operatedSystem } from '../support/kept-system.ts'
import { testServer } from '../support/nats.ts'
import { projectorProcess, type ProjectorProcess } from '../support/projector.ts'
import { only, testSystem } from '../support/system.ts'

let kept: OperatedSystem
beforeAll(async () => {
  kept = await operatedSystem()
  kept.system.provider.answerBy(() => use(['echo', { text: 'careful' }]))
  await kept.system.client.submit({ task: 'Look at 報告', task_id: 'top-waits' })
  await kept.system.reached(
    'top-waits',
    'it waits',
    (events) => only(events, 'approval_requested').length === 1,
  )
  await until('the projector knows', async () =>
    (await kept.system.client.query('approvals')).calls.some(({ task_id }) => task_id === 'top-waits'),
  )
})

afterAll(async () => {
  await kept.system.client.cancel('top-waits', 'enough')
  await kept.system.ended('top-waits')
})

/** Python copies stdin to the terminal, and what is written to the terminal to stdout. */
const python = `import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))`

interface OnTerminal extends AsyncDisposable {
  readonly written: () => string
  type(keys: string): void
  ended(): Promise<number | null>
}

function topOnTerminal(
  place: Omit<CliPlace, 'input'> = { cwd: kept.system.workspace, env: kept.env },
): OnTerminal {
  const shell = `stty cols 80 rows 24; exec "$0" "$1" top`
  const child = spawn('python3', ['-c', python, 'sh', '-c', shell, process.execPath, cliEntry], {
    cwd: place.cwd,
    env: { ...cliEnvironment(place.env), TERM: 'xterm', LANG: 'C.UTF-8' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit') as Promise<[number | null]>
  let written = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (written += text))
  return {
    written: () => written,
    type: (keys) => void child.stdin.write(keys),
    ended: async () => (await exited)[0],
    async [Symbol.asyncDispose]() {
      child.kill()
      await exited
    },
  }
}

it.each([
  ['q', 0],
  ['\u0003', 130],
])('shows what runs, is sorted by keys, and ends with %j', async (key, exitCode) => {
  await using terminal = topOnTerminal()
  await until('the task is there', () => terminal.written().includes('asks for echo'))
  expect(terminal.written()).toMatch(/top-waits\s+\S*asks you/)
  terminal.type('t')
  await until('it is sorted', () => terminal.written().includes('t tokens*'))
  terminal.type('\u001b[C')
  terminal.type(key)
  expect(await terminal.ended()).toBe(exitCode)
  // The cursor is shown again, and the keys are gone from the frame that stays.
  const [last = ''] = terminal.written().split('\u001b[?25l').slice(-1)
  expect(last).toContain('\u001b[?25h')
  expect(last.slice(last.lastIndexOf('beaver top'))).not.toContain('q quits')
})

it('looks once if stdout is no terminal, also for programs', async () => {
  const text = await kept.beaver('top')
  expect([text.exit, text.out]).toEqual([0, expect.stringMatching(/^top-waits .*asks you/m)])
  const { exit, out } = await kept.beaver('top', '--json', '--limit', '200')
  const answer = JSON.parse(out) as { tasks: { task_id: string; step: { text: string } }[] }
  expect(exit).toBe(0)
  expect(answer).toMatchObject({ daemons: [{ slots: { tasks_max: expect.any(Number) as number } }] })
  expect(answer.tasks.find(({ task_id: id }) => id === 'top-waits')?.step.text).toContain(
    'waits for a person',
  )
})

it('keeps the last figures while nothing answers, and goes on afterwards', async () => {
  await using server = await testServer()
  await using system = await testSystem(server)
  const started = (): Promise<ProjectorProcess> =>
    projectorProcess({ url: server.url, namespace: system.subjects.namespace })
  const first = await started()
  await using terminal = topOnTerminal(placeIn(server, system))
  await until('it is drawn', () => terminal.written().includes('No task is open.'))
  await first[Symbol.asyncDispose]()
  await until('it says that the figures are old', () => terminal.written().includes('These figures are'))
  await using _again = await started()
  const drawn = terminal.written().length
  const newest = (): string => terminal.written().slice(drawn).split('beaver top').at(-1) ?? ''
  await until('it goes on', () => newest().includes('q quits') && !newest().includes('These figures are'))
  terminal.type('q')
  expect(await terminal.ended()).toBe(0)
})

it('says which system is away, with the exit code of that', async () => {
  const { exit, err } = await kept.beaver('top', '--nats-url', 'nats://127.0.0.1:1')
  expect([exit, err]).toEqual([3, expect.stringContaining('127.0.0.1:1')])
})
