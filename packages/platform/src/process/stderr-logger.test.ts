import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { virtualClock } from '@beaver/testing'
import { stderrLogger, type StderrLoggerOptions } from './stderr-logger.ts'

const at = '2027-01-09T12:00:00.000Z'

function written(
  options: Omit<StderrLoggerOptions, 'write'>,
  act: (logger: ReturnType<typeof stderrLogger>) => void,
): string[] {
  const lines: string[] = []
  act(
    stderrLogger({
      pretty: false,
      clock: virtualClock(Date.parse(at)),
      ...options,
      write: (line) => lines.push(line),
    }),
  )
  return lines
}

describe('a line of the log', () => {
  it('is one line of JSON with the time, the level, the event, the message and the ids', () => {
    expect(
      written({}, (log) =>
        log.warn('task_ended', 'The task is failed:\nno key', {
          task_id: 't',
          status: 'failed',
          tokens: 5,
          gone: undefined,
        }),
      ),
    ).toEqual([
      `{"time":"${at}","level":"warn","event":"task_ended","message":"The task is failed:\\nno key","task_id":"t","status":"failed","tokens":5}\n`,
    ])
  })

  it('is written from its level on', () => {
    const say = (log: ReturnType<typeof stderrLogger>): void => {
      log.debug('a', 'A.')
      log.info('b', 'B.')
      log.error('c', 'C.')
    }
    expect(written({}, say)).toHaveLength(2)
    expect(written({ level: 'debug' }, say)).toHaveLength(3)
    expect(written({ level: 'error' }, say)).toHaveLength(1)
  })

  it('holds the fields of its logger, and those of the call win', () => {
    const [line = ''] = written({}, (log) =>
      log.with({ daemon: 'd', task_id: 'a' }).info('x', 'X.', { task_id: 'b' }),
    )
    expect(JSON.parse(line)).toMatchObject({ daemon: 'd', task_id: 'b' })
  })

  it('lets no field take the place of its own time, level, event or message', () => {
    const [line = ''] = written({}, (log) =>
      log.info('x', 'X.', { level: 'none', event: 'y', time: '0', message: 'Z.' }),
    )
    expect(JSON.parse(line)).toEqual({ time: at, level: 'info', event: 'x', message: 'X.' })
  })

  it('shows no secret, wherever it stands', () => {
    const secret = 'to"ken-of-mine'
    const lines = written({ secrets: [{ name: 'MY_TOKEN', value: secret }] }, (log) =>
      log.error('x', `refused ${secret}`, { deep: { list: [secret] }, url: 'nats://a:b@h' }),
    )
    expect(lines.join('')).not.toMatch(/of-mine|a:b@/)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ deep: { list: ['[secret:MY_TOKEN]'] } })
  })

  it('is bounded, however long a text is', () => {
    const [line = ''] = written({}, (log) => log.info('x', 'a'.repeat(100_000)))
    expect(line.length).toBeLessThan(2_200)
  })

  it('is for people on a terminal', () => {
    const [line = ''] = written({ pretty: true }, (log) =>
      log.warn('task_ended', 'The task is\nfailed.', { task_id: 't', why: 'no key' }),
    )
    // oxlint-disable-next-line no-control-regex
    expect(line.replaceAll(/\u001B\[\d+m/g, '')).toBe(
      '12:00:00.000 warn  The task is failed.  task_ended task_id=t why="no key"\n',
    )
  })
})

it('has written its line when the process is killed right after it', () => {
  const program = `import { stderrLogger } from ${JSON.stringify(new URL('./stderr-logger.ts', import.meta.url).href)}
    stderrLogger().error('last_words', 'Gone.'); process.kill(process.pid, 'SIGKILL')`
  const { stderr, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  })
  expect(signal).toBe('SIGKILL')
  expect(JSON.parse(stderr)).toMatchObject({ event: 'last_words' })
})
