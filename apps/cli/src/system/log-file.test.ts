import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempDisposableSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLog, rotateLog } from './log-file.ts'

test('a large log is emptied while a process writes to it, its end is kept, and the process goes on at its beginning', async () => {
  using scratch = mkdtempDisposableSync(join(tmpdir(), 'beaver-log-'))
  const file = join(scratch.path, 'part.log')
  const log = openLog(file)
  // The script writes a line for each byte that it receives, and answers when the line is written.
  const script = `let n = 0; process.stdin.on('data', (bytes) => { for (const _ of bytes) process.stderr.write('line ' + ++n + '\\n'); process.stdout.write('.') })`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', log] })
  closeSync(log)
  const { stdin, stdout } = child
  if (stdin === null || stdout === null) throw new Error('The child has no pipes.')
  const write = async (): Promise<void> => {
    stdin.write('x')
    await once(stdout, 'data')
  }
  try {
    await write()
    rotateLog(file, 7)
    expect(readFileSync(file, 'utf8')).toBe('line 1\n')
    await write()
    rotateLog(file, 7)
    await write()
    expect([readFileSync(`${file}.1`, 'utf8'), readFileSync(file, 'utf8')]).toEqual(['line 2\n', 'line 3\n'])
    await write()
    rotateLog(file, 7)
    expect([readFileSync(`${file}.1`, 'utf8'), readFileSync(file, 'utf8')]).toEqual(['line 4\n', ''])
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
})

test('a log that is not there is left alone', () => {
  using scratch = mkdtempDisposableSync(join(tmpdir(), 'beaver-log-'))
  rotateLog(join(scratch.path, 'none.log'), 0)
  writeFileSync(join(scratch.path, 'small.log'), 'x')
  rotateLog(join(scratch.path, 'small.log'))
  expect(readFileSync(join(scratch.path, 'small.log'), 'utf8')).toBe('x')
})
