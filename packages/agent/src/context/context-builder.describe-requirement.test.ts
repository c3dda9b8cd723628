import type { EvidenceRequirement } from '@beaver/core/evidence'
import { expect, test } from 'vitest'
import { describeRequirement } from './context-builder.ts'

test.each<[EvidenceRequirement, string]>([
  ['Be kind.', 'Be kind.'],
  [{ kind: 'tool_succeeded', tool: 't' }, 'The tool t must be called and succeed.'],
  [{ kind: 'tool_succeeded', tool: 't', times_min: 1 }, 'The tool t must be called and succeed.'],
  [
    { kind: 'tool_succeeded', tool: 't', times_min: 3 },
    'The tool t must be called and succeed at least 3 times.',
  ],
  [{ kind: 'output_length', min: 10 }, 'The final answer must have at least 10 characters.'],
  [{ kind: 'output_length', max: 9 }, 'The final answer must have at most 9 characters.'],
  [
    { kind: 'output_length', min: 1, max: 9 },
    'The final answer must have at least 1 and at most 9 characters.',
  ],
  [{ kind: 'output_matches', pattern: '^a' }, 'The final answer must match the regular expression /^a/.'],
  [
    { kind: 'tool_succeeded', tool: 't', arguments_match: { path: 'a' } },
    'The tool t must be called with arguments that contain {"path":"a"} and succeed.',
  ],
  [{ kind: 'output_contains', texts: ['a', 'b'] }, 'The final answer must contain "a" and "b", exactly so.'],
  [
    { kind: 'output_schema', schema: { type: 'object' } },
    'The final answer must be JSON and nothing else (one fenced block is fine) that fits this JSON Schema: {"type":"object"}',
  ],
  [
    { kind: 'output_value', path: '/a', equals: [1] },
    'The final answer must be JSON and have [1] at "/a" (a JSON Pointer).',
  ],
  [
    { kind: 'output_value', path: '/a', equals: null },
    'The final answer must be JSON and have null at "/a" (a JSON Pointer).',
  ],
  [
    { kind: 'output_value', path: '/a', max: 3 },
    'The final answer must be JSON and have a number of at most 3 at "/a" (a JSON Pointer).',
  ],
  [
    { kind: 'output_value', path: '/a' },
    'The final answer must be JSON and have a value at "/a" (a JSON Pointer).',
  ],
  [
    { kind: 'output_length', path: '/a', max: 9 },
    'The final answer must have at most 9 characters. Only the value at "/a" of the final answer, which is JSON, counts for this.',
  ],
  [{ kind: 'output_cites', sources: ['a', 'b'] }, 'The final answer must name "a" and "b".'],
  [
    { kind: 'output_cites', sources: ['a', 'b'], times_min: 1, from_tool: 't' },
    'The final answer must name at least 1 of "a" and "b", and you must have it from t.',
  ],
  [{ kind: 'output_cites', from_tool: 't' }, 'The final answer must cite at least 1 URL that t gave you.'],
  [
    { kind: 'output_cites', from_tool: 't', times_min: 2, only: true },
    'The final answer must cite at least 2 different URLs that t gave you. It must cite no URL that t did not give.',
  ],
  [
    { kind: 'numbers_from_tools', tools: ['t', 'u'] },
    'Every number in the final answer must be in a result of t or u that you got: nothing rounded, nothing added up.',
  ],
  [
    { kind: 'numbers_from_tools', tools: ['t'], integers_below: 10, allow: [100, 0.5] },
    'Every number in the final answer must be in a result of t that you got: nothing rounded, nothing added up; free are whole numbers below 10 and 100, 0.5.',
  ],
  [
    { kind: 'numbers_from_dependencies', integers_below: 10 },
    'Every number in the final answer must be in what you were given: nothing rounded, nothing added up; free are whole numbers below 10.',
  ],
  [
    { kind: 'quotes_from_dependencies' },
    'The final answer must quote at least 1 passage of the outputs that you were given, in quotation marks. Every quotation must occur there word for word.',
  ],
  [
    { kind: 'files_exist', paths: ['a.md'] },
    'When you answer, this file must exist in the workspace: "a.md".',
  ],
  [
    { kind: 'files_exist', paths: ['a', 'b'] },
    'When you answer, these files must exist in the workspace: "a", "b".',
  ],
])('the requirement %j reads %j', (requirement, words) =>
  expect(describeRequirement(requirement)).toBe(words),
)
