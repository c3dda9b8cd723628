import { expect, it } from 'vitest'
import { messageOf } from './failed-call.ts'

it.each([
  ['{"error":"not_found","message":"There is nothing at \\"a.md\\"."}', 'There is nothing at "a.md".'],
  ['{"error":"not_found"}', '{"error":"not_found"}'],
  ['{"message":""}', '{"message":""}'],
  ['{"message":{"text":"no"}}', '{"message":{"text":"no"}}'],
  ['exit code 1: no such file', 'exit code 1: no such file'],
  ['"text"', '"text"'],
  [' ', null],
  [null, null],
])('of %j a person reads %j', (result, message) => expect(messageOf(result)).toBe(message))
