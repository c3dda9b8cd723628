import { ownMs } from '@beaver/testing'
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
    [
      'an element with a tool nobody has',
      '<tool_call>{"name": "nowhere", "arguments": {}}</tool_call>',
      '<tool_call>',
    ],
    ['several elements', `${element}\n${element}`, '<tool_call>'],
    [
      'an element of elements',
      '<tool_call>\n<function=read_file>\n<parameter=path>\nREADME.md\n</parameter>\n</function>\n</tool_call>',
      '<tool_call>',
    ],
    [
      'an element with the name on its own line',
      '<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>x</arg_value>\n</tool_call>',
      '<tool_call>',
    ],
    ['an element after words', `I will read the file.\n\n${element}`, '<tool_call>'],
    [
      'an element after words that was cut off',
      'I will read the file.\n<tool_call>\n{"name": "read_',
      '<tool_call>',
    ],
    ['an element before a made-up answer', `${element}\n\nThe file says 42.`, '<tool_call>'],
    ['an element in a list of elements', `<tool_calls>\n${element}\n</tool_calls>`, '<tool_calls>'],
    ['an older element', `<function_call>${json}</function_call>`, '<function_call>'],
    ['an element with space around', `\n\n  ${element}  \n`, '<tool_call>'],
    ['an element that is all of one fenced block', `\`\`\`xml\n${element}\n\`\`\``, '<tool_call>'],
    ['an element after thoughts', `<think>\nI need the file.\n</think>\n\n${element}`, '<tool_call>'],
    [
      'an element after an answer that shows one',
      `Models write \`<tool_call>\`.\n\n\`\`\`\n${element}\n\`\`\`\n\nNow I do it:\n${element}`,
      '<tool_call>',
    ],
    [
      'an object with tool_calls',
      `{"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}]}`,
      'JSON',
    ],
    [
      'an object with tool_calls of a tool nobody has',
      '{"content": null, "tool_calls": [{"name": "nowhere", "arguments": {}}]}',
      'JSON',
    ],
    [
      'an object with tool_calls in a fenced block',
      '```json\n{"tool_calls": [{"name": "x", "arguments": {}}]}\n```',
      'JSON',
    ],
    ["a known tool's name and arguments", json, 'JSON'],
    ['the same in a fenced block', `\`\`\`json\n${json}\n\`\`\``, 'JSON'],
    ['arguments that are text', '{"name": "read_file", "arguments": "{\\"path\\": \\"x\\"}"}', 'JSON'],
    ['parameters', '{"name": "read_file", "parameters": {"path": "x"}}', 'JSON'],
    [
      'a function with its id',
      '{"id": "c1", "type": "function", "function": {"name": "list_files", "arguments": {}}}',
      'JSON',
    ],
    ['an action', '{"action": "list_files", "action_input": {"path": "."}}', 'JSON'],
    [
      'a name with the namespace of functions',
      '{"recipient_name": "functions.read_file", "parameters": {"path": "x"}}',
      'JSON',
    ],
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

const args = '{"path": "README.md"}'
const deepSeek = (inside: string): string => `<｜tool▁calls▁begin｜>${inside}<｜tool▁calls▁end｜>`
const kimi = `<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>${args}<|tool_call_end|><|tool_calls_section_end|>`
const functionElement = '<function=read_file>\n<parameter=path>\nREADME.md\n</parameter>\n</function>'
const invoke = '<invoke name="read_file">\n<parameter name="path">README.md</parameter>\n</invoke>'
const dsml =
  '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="path" string="true">x</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'

/** The calls of real models, as their chat templates write them. */
const realCalls: readonly (readonly [model: string, text: string])[] = [
  ['Mistral: a list', `[TOOL_CALLS] [${json}]`],
  ['Mistral: a list without a space', `[TOOL_CALLS][${json}]`],
  ['Mistral: a name with JSON', `[TOOL_CALLS]read_file${args}`],
  ['Mistral: a name with [ARGS]', `[TOOL_CALLS]read_file[ARGS]${args}`],
  ['Mistral: a name with [CALL_ID]', `[TOOL_CALLS]read_file[CALL_ID]abcDEF123[ARGS]${args}`],
  ['Mistral: two calls', `[TOOL_CALLS]read_file${args}[TOOL_CALLS]list_files{}`],
  ['Mistral: without its mark', `read_file[ARGS]${args}`],
  ['Llama: JSON', `<|python_tag|>{"type": "function", "name": "read_file", "parameters": ${args}}<|eom_id|>`],
  ['Llama: a call', '<|python_tag|>read_file.call(path="README.md")'],
  ['Llama: a program', '<|python_tag|>import os\nprint(os.listdir("."))'],
  ['Llama: a function element', `<function=read_file>${args}</function>`],
  ['Llama: JSON and a semicolon', `${json}; ${json}`],
  ['Llama 4: a list of function calls', '[read_file(path="README.md"), list_files()]'],
  ['a function call', 'read_file(path="README.md")'],
  [
    'DeepSeek R1',
    deepSeek(
      `<｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n\`\`\`json\n${args}\n\`\`\`<｜tool▁call▁end｜>`,
    ),
  ],
  ['DeepSeek V3.1', deepSeek(`<｜tool▁call▁begin｜>read_file<｜tool▁sep｜>${args}<｜tool▁call▁end｜>`)],
  [
    'DeepSeek with plain marks',
    `<|tool_calls_begin|><|tool_call_begin|>read_file<|tool_sep|>${args}<|tool_call_end|><|tool_calls_end|>`,
  ],
  ['DeepSeek, cut off', '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_'],
  ['DeepSeek V3.2', dsml],
  ['Kimi', kimi],
  [
    'Kimi without its section',
    `<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>${args}<|tool_call_end|>`,
  ],
  [
    'Kimi K3',
    '<|open|>toolscall tool="read_file" index="1"<|sep|><|open|>argument key="path" type="string"<|sep|>x<|close|>argument<|sep|>',
  ],
  ['Qwen Coder', functionElement],
  ['Qwen Coder, cut off', '<function=read_file>\n<parameter=path>\nREAD'],
  ['MiniCPM', '<function name="read_file"><param name="path">x</param></function>'],
  ['Claude', invoke],
  ['Claude, in its element', `<function_calls>\n${invoke}\n</function_calls>`],
  ['Claude, with a prefix', invoke.replaceAll(/<(\/?)/g, '<$1antml:')],
  ['MiniMax', `<minimax:tool_call>\n${invoke}\n</minimax:tool_call>`],
  ['Seed', `<seed:tool_call>\n${functionElement}\n</seed:tool_call>`],
  [
    'Seed on one line',
    '<seed:tool_call><function=read_file><parameter=path>x</parameter></function></seed:tool_call>',
  ],
  [
    'Step',
    '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="read_file"></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
  ],
  ['GLM without arguments', '<tool_call>list_files</tool_call>'],
  ['LongCat', `<longcat_tool_call>${json}</longcat_tool_call>`],
  ['Granite', `<|tool_call|>[${json}]`],
  ['Gemma 4', '<|tool_call>call:read_file{path:<|"|>README.md<|"|>}<tool_call|>'],
  ['Gemma 4 without its marks', 'call:read_file{path:README.md}'],
  ['FunctionGemma', '<start_function_call>call:read_file{path:<escape>x<escape>}<end_function_call>'],
  ['LFM', '<|tool_call_start|>[read_file(path="x")]<|tool_call_end|>'],
  ['Phi', `functools[${json}]`],
  [
    'Command',
    `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "read_file", "parameters": ${args}}]<|END_ACTION|>`,
  ],
  ['InternLM', `<|action_start|><|plugin|>${json}<|action_end|>`],
  ['Apertus', `<|tools_prefix|>[{"read_file": ${args}}]<|tools_suffix|>`],
  ['gpt-oss', `<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>${args}<|call|>`],
  [
    'gpt-oss after its thoughts',
    `<|channel|>analysis<|message|>I need it.<|end|><|start|>assistant<|channel|>commentary to=functions.read_file<|message|>${args}`,
  ],
  [
    'the request protocol on one line',
    '<|[REQUEST_TOOL]|>tool: read_file, path: README.md<|[END_REQUEST_TOOL]|>',
  ],
  [
    'the request protocol on one line with spaces',
    '<|[REQUEST_TOOL]|> read_file {"path": "README.md"} <|[END_REQUEST_TOOL]|>',
  ],
  [
    'the request protocol on one line, in words',
    '<|[REQUEST_TOOL]|> call tool=read_file path=README.md <|[END]|>',
  ],
  ['ReAct', `Thought: I need the file.\nAction: read_file\nAction Input: ${args}`],
  ['an element with the name of the tool', '<read_file>\n<path>README.md</path>\n</read_file>'],
]

describe('a call of a real model', () => {
  test.each(realCalls)('%s', (_, text) => expect(kind(text)).not.toBeNull())
  test.each(realCalls.filter(([, text]) => /^[<[]/.test(text) && !text.startsWith('[read')))(
    '%s, after words',
    (_, text) => {
      expect(kind(`I will read the file.\n\n${text}`)).not.toBeNull()
      expect(kind(`I will read the file. ${text}\n`)).not.toBeNull()
    },
  )
  test.each(realCalls)('%s, shown in a longer answer, is an example', (_, text) => {
    expect(kind(`Some models write this:\n\n~~~~\n${text}\n~~~~\n\nThe runtime reads it.`)).toBeNull()
    expect(kind(`Some models write this:\n\n~~~~\n${text}\n~~~~`)).toBeNull()
    if (!text.includes('`') && !text.includes('\n')) expect(kind(`Some models write \`${text}\`.`)).toBeNull()
  })
  test.each(realCalls.filter(([model]) => !/program|cut off/.test(model)))(
    '%s, with text on both sides, is an example',
    (_, text) => {
      expect(kind(`Some models write\n${text}\nand the runtime reads it.`)).toBeNull()
    },
  )
})

test.each([
  '[TOOL_CALLS] is the mark of Mistral.',
  'Mistral writes [TOOL_CALLS] before a call, and Llama <|python_tag|>.',
  '<|python_tag|> is what Llama writes before a program.',
  '<tool_call> and </tool_call> enclose a call of Hermes models.',
  'DeepSeek uses <｜tool▁calls▁begin｜> and <｜tool▁calls▁end｜>.',
  '<｜tool▁calls▁begin｜> begins the calls of DeepSeek, <｜tool▁calls▁end｜> ends them.',
  'Kimi uses <|tool_calls_section_begin|> and <|tool_calls_section_end|>.',
  'Qwen Coder writes <function=name> and </function>.',
  '<function=name> begins a call of Qwen Coder.',
  'Claude writes <invoke name="tool"> with <parameter name="x"> in it.',
  '<|[REQUEST_TOOL]|> and <|[END_REQUEST_TOOL]|> are the marks of the old protocol.',
  'The old protocol begins with <|[REQUEST_TOOL]|>, then the name, then <|[END_REQUEST_TOOL]|>.',
  'gpt-oss writes <|channel|>commentary to=functions.name for a call.',
  'The mark [ARGS] stands between the name and the arguments.',
  'Call read_file(path="x") to see it.',
  'The function is read_file(path="x"), as the page says.',
  'Action: read_file is the best choice here.',
  '[read_file](docs/tools.md) reads a file (the whole).',
  '[see the notes](notes.md)',
  'f(x=1)',
  '<report>\n<total>3</total>\n</report>',
])('is talk about calls: %s', (text) => expect(kind(text)).toBeNull())

describe('a text that is none', () => {
  test.each<[string, string]>([
    ['nothing', ''],
    ['an answer', 'The file says 42.'],
    [
      'a fenced element within a longer answer',
      `Hermes models call tools like this:\n\n\`\`\`xml\n${element}\n\`\`\`\n\nThe runtime answers with a result.`,
    ],
    [
      'a fenced element at the end of an answer',
      `Hermes models call tools like this:\n\n\`\`\`xml\n${element}\n\`\`\``,
    ],
    [
      'a fenced element at the beginning of an answer',
      `\`\`\`xml\n${element}\n\`\`\`\nThis is how Hermes models call tools.`,
    ],
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
    [
      'JSON in a fenced block within a longer answer',
      `The call was:\n\`\`\`json\n${json}\n\`\`\`\nIt succeeded.`,
    ],
    ['two fenced blocks', `\`\`\`json\n${json}\n\`\`\`\n\n\`\`\`json\n{"a": 1}\n\`\`\``],
    ['JSON after words', `The call was: ${json}`],
    ['a figure of tool calls', '{"tool_calls": 3, "errors": 0}'],
    ['no tool calls', '{"tool_calls": []}'],
    ['names of tool calls', '{"tool_calls": ["read_file", "list_files"]}'],
    ['JSON of a person', '{"name": "Ada", "arguments": {"for": 1, "against": 2}}'],
    ['JSON of a tool, without arguments', '{"name": "read_file", "description": "Reads a file."}'],
    [
      'a record about a call',
      '{"name": "read_file", "arguments": {"path": "x"}, "result": "ok", "took_ms": 3}',
    ],
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
  const part = fc.oneof(
    fc.string(),
    call,
    fc.constantFrom('```', '\n', '`', '<tool_call>', '</tool_call>', '{', '<think>'),
  )
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 8 }).map((parts) => parts.join('')),
      (text) => void kind(text),
    ),
    { numRuns: 500 },
  )
  fc.assert(
    fc.property(call, (text) => {
      expect([kind(text), kind(`For example:\n\`\`\`\`\n${text}\n\`\`\`\`\nThat is it.`)]).toEqual([
        expect.any(String),
        null,
      ])
    }),
  )
})

it('reads a long text in little time', async () => {
  const units = [
    '<tool_call>\n',
    '<tool_call>{',
    '`',
    ' ',
    '{"name":',
    '<|[',
    '```\n',
    '<think>',
    '\n ',
    '[TOOL_CALLS]a',
    '[',
    'a[ARGS]',
    '<|[REQUEST_TOOL]|>a ',
    '<｜tool',
    '<function=a',
    'call:',
    ' to=functions.a',
    'a.',
    '<a><b>',
    'read_file(a=',
  ]
  const work = (): void => {
    for (const unit of units) kind(unit.repeat(100_000 / unit.length))
  }
  expect(await ownMs(work)).toBeLessThan(5_000)
})
