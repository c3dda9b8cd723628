import { expect, it } from 'vitest'
import { workflowTexts } from './daemon.ts'

const text = { type: 'string' }

it.each([
  ['one required text', { properties: { topic: text, tone: text }, required: ['topic'] }, 'topic'],
  ['one text, which is not required', { properties: { topic: text }, required: [] }, 'topic'],
  ['two required texts', { properties: { a: text, b: text }, required: ['a', 'b'] }, undefined],
  ['two texts, of which none is required', { properties: { a: text, b: text }, required: [] }, undefined],
  ['a number', { properties: { n: { type: 'integer' } }, required: ['n'] }, undefined],
  ['a choice', { properties: { n: { type: 'string', enum: ['a'] } }, required: ['n'] }, undefined],
  ['nothing', {}, undefined],
])('a workflow with %s', (_, parameters, input) =>
  expect(workflowTexts(['workflow:w'], () => ({ parameters }))['workflow:w']).toBe(input),
)
