import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { rawToolCall } from './raw-tool-call.ts'

const known = new Set(['read_file', 'list_files', 'SequentialWorkflow'])
const kind = (text: string): string | null => rawToolCall(text, (name) => known.has(name))

const json = '{"name": "read_file", "arguments": {"path": "README.md"}}'
const element = `<tool_call>\n${json}\n</tool_call>`
const request = '<|[REQUEST_TOOL]|>\ntool: read_file\npath: README.md\n<|[END_REQUEST_TOOL]|>'

describe('a text that is a tool call', () => {
  test.each<[string, string, string]>([
    ['an element', element, '<tool_call>'],
    ['an element in one line', `<tool_call>${json}</tool_call>`, '<tool_call>'],
    ['an element that was cut off', '<tool_call>\n{"name": "read_file", "argum', '<tool_call>'],
    ['an element without its end', `<tool_call>\n${json}`, '<tool_call>'],
    ['an element with a tool nobody has', '<tool_call>{"name": "nowhere", "arguments": {}}</tool_call>', '<tool_call>'],
    ['several elements', `${element}\n${element}`, '<tool_call>'],
    ['an element of elements', '<tool_call>\n<function=read_file>\n<parameter=path>\nREADME.md\n</parameter>\n</function>\n</tool_call>', '<tool_call>'],
    ['an element with the name on its own line', '<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>x</arg_value>\n</tool_call>', '<tool_call>'],
    ['an element after words', `I will read the file.\n\n${element}`, '<tool_call>'],
    ['an element after words that was cut off', 'I will read the file.\n<tool_call>\n{"name": "read_', '<tool_call>'],
    ['an element before a made-up answer', `${element}\n\nThe file says 42.`, '<tool_call>'],
    ['an element in a list of elements', `<tool_calls>\n${element}\n</tool_calls>`, '<tool_calls>'],
    ['an older element', `<function_call>${json}</function_call>`, '<function_call>'],
    ['an element with space around', `\n\n  ${element}  \n`, '<tool_call>'],
    ['an element that is all of one fenced block', `\`\`\`xml\n${element}\n\`\`\``, '<tool_call>'],
    ['an element after thoughts', `<think>\nI need the file.\n</think>\n\n${element}`, '<tool_call>'],
    ['an element after an answer that shows one', `Models write \`<tool_call>\`.\n\n\`\`\`\n${element}\n\`\`\`\n\nNow I do it:\n${element}`, '<tool_call>'],
    ['an object with tool_calls', `{"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}]}`, 'JSON'],
    ['an object with tool_calls of a tool nobody has', '{"content": null, "tool_calls": [{"name": "nowhere", "arguments": {}}]}', 'JSON'],
    ['an object with tool_calls in a fenced block', '```json\n{"tool_calls": [{"name": "x", "arguments": {}}]}\n```', 'JSON'],
    ["a known tool's name and arguments", json, 'JSON'],
    ['the same in a fenced block', `\`\`\`json\n${json}\n\`\`\``, 'JSON'],
    ['arguments that are text', '{"name": "read_file", "arguments": "{\\"path\\": \\"x\\"}"}', 'JSON'],
    ['parameters', '{"name": "read_file", "parameters": {"path": "x"}}', 'JSON'],
    ['a function with its id', '{"id": "c1", "type": "function", "function": {"name": "list_files", "arguments": {}}}', 'JSON'],
    ['an action', '{"action": "list_files", "action_input": {"path": "."}}', 'JSON'],
    ['a name with the namespace of functions', '{"recipient_name": "functions.read_file", "parameters": {"path": "x"}}', 'JSON'],
    ['a workflow', '{"name": "SequentialWorkflow", "arguments": {"task": "t", "agents": []}}', 'JSON'],
    ['JSON after thoughts', `<think>\nI need the file.\n</think>\n${json}`, 'JSON'],
    ['a list of calls', `[${json}, ${json}]`, 'JSON'],
    ['calls line by line', `${json}\n${json}`, 'JSON'],
    ['calls line by line with semicolons', `${json};\n${json}`, 'JSON'],
    ['the request protocol', request, 'REQUEST_TOOL'],
    ['the request protocol without its end', '<|[REQUEST_TOOL]|>\ntool: read_file', 'REQUEST_TOOL'],
    ['the request protocol with JSON', `<|[REQUEST_TOOL]|>${json}<|[END]|>`, 'REQUEST_TOOL'],
    ['the request protocol alone', '<|[REQUEST_TOOL]|>', 'REQUEST_TOOL'],
    ['the request protocol after words', `I will look.\n${request}`, 'REQUEST_TOOL'],
  ])('%s', (_, text, words) => expect(kind(text)).toContain(words))
})

describe('a text that is none', () => {
  test.each<[string, string]>([
    ['nothing', ''],
    ['an answer', 'The file says 42.'],
    ['a fenced element within a longer answer', `Hermes models call tools like this:\n\n\`\`\`xml\n${element}\n\`\`\`\n\nThe runtime answers with a result.`],
    ['a fenced element at the end of an answer', `Hermes models call tools like this:\n\n\`\`\`xml\n${element}\n\`\`\``],
    ['a fenced element at the beginning of an answer', `\`\`\`xml\n${element}\n\`\`\`\nThis is how Hermes models call tools.`],
    ['an element between tildes', `So:\n~~~\n${element}\n~~~\nDone.`],
    ['a fence within a longer fence', `So:\n\`\`\`\`md\n\`\`\`\n${element}\n\`\`\`\n\`\`\`\`\nDone.`],
    ['a longer fence that was not closed', `So:\n\`\`\`\`md\n\`\`\`\n${element}`],
    ['a fence that was not closed', `So:\n\`\`\`xml\n${element}`],
    ['inline code', 'The model writes `<tool_call>{"name": "x"}</tool_call>` for that.'],
    ['inline code at the beginning', '`<tool_call>` is the element of a call.'],
    ['a word about the element', '<tool_call> is the element in which a call stands.'],
    ['an element in the middle of a sentence', 'It ends with </tool_call>, as <tool_call> began it.'],
    ['an element with text on both sides', `It looks like this:\n${element}\nand is read by the runtime.`],
    ['another element', '<report>\n{"name": "read_file", "arguments": {}}\n</report>'],
    ['JSON in a fenced block within a longer answer', `The call was:\n\`\`\`json\n${json}\n\`\`\`\nIt succeeded.`],
    ['two fenced blocks', `\`\`\`json\n${json}\n\`\`\`\n\n\`\`\`json\n{"a": 1}\n\`\`\``],
    ['JSON after words', `The call was: ${json}`],
    ['a figure of tool calls', '{"tool_calls": 3, "errors": 0}'],
    ['no tool calls', '{"tool_calls": []}'],
    ['names of tool calls', '{"tool_calls": ["read_file", "list_files"]}'],
    ['JSON of a person', '{"name": "Ada", "arguments": {"for": 1, "against": 2}}'],
    ['JSON of a tool, without arguments', '{"name": "read_file", "description": "Reads a file."}'],
    ['a record about a call', '{"name": "read_file", "arguments": {"path": "x"}, "result": "ok", "took_ms": 3}'],
    ['a list with one call in it', `[${json}, {"total": 2}]`],
    ['lines of which one is a call', `${json}\nand so on`],
    ['JSON of a report', '{"folder": {"name": "x", "path": "."}}'],
    ['a JSON text', '"read_file"'],
    ['JSON that was cut off', '{"name": "read_file", "arguments": {"pa'],
    ['a word about the request protocol', '<|[REQUEST_TOOL]|> is what older models write.'],
    ['the request protocol in inline code', 'Older models write\n`<|[REQUEST_TOOL]|>`\nbefore a call.'],
    ['the request protocol in a fenced block', `So:\n\`\`\`\n${request}\n\`\`\`\nThat is all.`],
    ['the request protocol with text on both sides', `They wrote\n${request}\nin those days.`],
  ])('%s', (_, text) => expect(kind(text)).toBeNull())
})

it('never throws, and a sentence before a fenced block makes any call an example', () => {
  const call = fc.constantFrom(element, json, request, `${json}\n${json}`)
  const part = fc.oneof(fc.string(), call, fc.constantFrom('```', '\n', '`', '<tool_call>', '</tool_call>', '{', '<think>'))
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 8 }).map((parts) => parts.join('')),
      (text) => void kind(text),
    ),
    { numRuns: 500 },
  )
  fc.assert(
    fc.property(call, (text) => {
      expect([kind(text), kind(`For example:\n\`\`\`\`\n${text}\n\`\`\`\`\nThat is it.`)]).toEqual([expect.any(String), null])
    }),
  )
})

it('reads a long text in little time', () => {
  const begun = performance.now()
  for (const unit of ['<tool_call>\n', '`', ' ', '{"name":', '<|[', '```\n', '<think>', '\n ']) kind(unit.repeat(100_000 / unit.length))
  expect(performance.now() - begun).toBeLessThan(5_000)
})
