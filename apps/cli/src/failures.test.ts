import { readFileSync } from 'node:fs'
import { BeaverError, type ErrorCode, errorCodes } from '@beaver/core'
import { expect, test } from 'vitest'
import { linesOf, reportOf, UsageError } from './failures.ts'

test('every code ends with the exit code of the table', async () => {
  for (const [code, { exit }] of Object.entries(errorCodes))
    expect(await reportOf(new BeaverError(code as ErrorCode, 'x'))).toMatchObject({ code, exit })
})

test('wrong usage ends with 2, a defect with 1, and neither shows a stack', async () => {
  expect((await reportOf(new UsageError('x'))).exit).toBe(2)
  const told = await reportOf(new TypeError('undefined is not a function'))
  expect(told).toMatchObject({ code: 'internal', exit: 1 })
  expect(linesOf(told).join('\n')).not.toContain('    at ')
})

test('a path that the system refuses is no defect, and a program that cannot be started is one', async () => {
  const refused = await reportOf(thrownBy(() => readFileSync('/dev/null/file')))
  expect(refused).toMatchObject({ code: 'wrong_state', exit: 1 })
  expect(refused.message).toMatch(
    /^A file cannot be used: ENOTDIR: not a directory, open '\/dev\/null\/file'\. Look/,
  )
  const spawn = Object.assign(new Error('spawn sh ENOENT'), { errno: -2, path: 'sh', syscall: 'spawn sh' })
  expect((await reportOf(spawn)).code).toBe('internal')
})

function thrownBy(act: () => void): unknown {
  try {
    return act()
  } catch (error) {
    return error
  }
}

test('several problems are listed with their paths, unless the message names them', () => {
  const problems = [
    { path: 'task', message: 'must not be empty' },
    { path: '', message: 'unknown field' },
  ]
  const told = { code: 'invalid_arguments', exit: 2, problems }
  expect(linesOf({ ...told, message: 'The task is not valid.' })).toEqual([
    'The task is not valid.',
    '  task: must not be empty',
    '  unknown field',
  ])
  expect(linesOf({ ...told, message: 'Not valid: task: must not be empty; unknown field' })).toHaveLength(1)
  expect(linesOf({ ...told, message: 'Not valid.', problems: problems.slice(0, 1) })).toHaveLength(1)
})
