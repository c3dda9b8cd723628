// How servers name a tool whose schema they refuse: the wordings of public threads.
import { afterEach, describe, expect, it } from 'vitest'
import { ask, closeServers, failureOf, json, provider, serve } from '../test/kit.ts'
import { refusedTools } from './provider-failure.ts'

afterEach(closeServers)

const tools = Array.from({ length: 30 }, (_, i) => ({
  name: i === 7 ? 'workflow:sum' : `tool_${i}`,
  description: '',
  parameters: { type: 'object' },
}))

const wordings: readonly {
  readonly server: string
  readonly source: string
  readonly status?: number
  readonly body: unknown
  readonly names: string[]
}[] = [
  {
    server: 'OpenAI',
    source: 'https://github.com/Azure/azure-mcp/issues/197',
    body: {
      error: {
        message: "Invalid schema for function 'tool_19': In context=(), object schema missing properties.",
        type: 'invalid_request_error',
        param: 'tools[19].function.parameters',
        code: 'invalid_function_parameters',
      },
    },
    names: ['tool_19'],
  },
  {
    server: 'OpenAI, of an encoded name',
    source: 'https://github.com/nspady/google-calendar-mcp/issues/39',
    body: {
      error: {
        message:
          "Invalid schema for function 'workflow-_sum': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
        type: 'invalid_request_error',
        param: 'tools[5].function.parameters',
        code: 'invalid_function_parameters',
      },
    },
    names: ['workflow:sum'],
  },
  {
    server: 'Copilot',
    source: 'https://github.com/Automattic/wordpress-mcp/issues/103',
    body: {
      error: {
        message:
          "Invalid schema for function 'tool_3': In context=('properties', 'meta_data', 'items', 'properties', 'value', 'type', '6'), array schema missing items.",
        code: 'invalid_function_parameters',
      },
    },
    names: ['tool_3'],
  },
  {
    server: 'Responses',
    source: 'https://github.com/smallmain/vscode-unify-chat-provider/issues/162',
    body: {
      error: { message: "'object' is not of type 'object', 'boolean'", param: 'tools[25].parameters' },
    },
    names: ['tool_25'],
  },
  {
    server: 'Anthropic',
    source: 'https://github.com/anthropics/claude-code/issues/7365',
    body: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message:
          'tools.18.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12',
      },
    },
    names: ['tool_18'],
  },
  {
    server: 'Gemini, of several',
    source: 'https://github.com/zed-extensions/mcp-server-brave-search/issues/12',
    body: [
      {
        error: {
          code: 400,
          message:
            'Invalid JSON payload received. Unknown name "const" at \'tools[0].function_declarations[5].parameters.properties[8].value.any_of[0]\': Cannot find field.\nInvalid JSON payload received. Unknown name "const" at \'tools[0].function_declarations[7].parameters.properties[8].value.any_of[0]\': Cannot find field.',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    names: ['tool_5', 'workflow:sum'],
  },
  {
    server: 'Gemini, of a required property',
    source: 'https://github.com/iBUHub/AIStudioToAPI/issues/154',
    body: {
      error: {
        code: 400,
        message:
          '* GenerateContentRequest.tools[0].function_declarations[1].parameters.required[0]: property is not defined\n* GenerateContentRequest.tools[0].function_declarations[8].parameters.required[0]: property is not defined\n',
        status: 'INVALID_ARGUMENT',
      },
    },
    names: ['tool_1', 'tool_8'],
  },
  {
    server: 'a gateway that passes on the words of another server',
    source: 'https://github.com/vllm-project/vllm (FastAPI)',
    status: 422,
    body: {
      detail: [
        { loc: ['body', 'tools', 3, 'function', 'parameters'], msg: 'Input should be a valid dictionary' },
      ],
    },
    names: ['tool_3'],
  },
  {
    server: 'OpenAI, of a long description',
    source: 'https://github.com/getsentry/sentry-mcp/issues/106',
    body: {
      error: {
        message:
          "Invalid 'tools[4].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 3097 instead.",
        type: 'invalid_request_error',
        param: 'tools[4].function.description',
        code: 'string_above_max_length',
      },
    },
    names: ['tool_4'],
  },
  {
    server: 'Responses, of a long description',
    source: 'https://github.com/microsoft/genaiscript/issues/1381',
    body: {
      error: {
        message: "Invalid 'tools[2].description': string too long.",
        param: 'tools[2].description',
        code: 'string_above_max_length',
      },
    },
    names: ['tool_2'],
  },
  {
    server: 'Vertex',
    source: 'https://github.com/google-gemini/gemini-cli/issues/2282',
    body: {
      error: {
        code: 400,
        message:
          "Unable to submit request because `tool_6` functionDeclaration `parameters.options` schema didn't specify the schema type field.",
        status: 'INVALID_ARGUMENT',
      },
    },
    names: ['tool_6'],
  },
  {
    server: 'Bedrock, by the form of its paths',
    source: 'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html',
    body: {
      message:
        'The value at toolConfig.tools.1.toolSpec.inputSchema.json.type must be one of the following: object.',
    },
    names: ['tool_1'],
  },
]

describe('a refusal', () => {
  it.each(wordings)('of $server names the tools', async ({ body, status = 400, names }) => {
    const url = await serve(json(body, status))
    const whole = await failureOf(provider(url).chat(ask({ tools })))
    const streamed = await failureOf(provider(url).chat(ask({ tools, onText: () => undefined })))
    expect(whole.refusedTools.map(({ name }) => name)).toEqual(names)
    expect(streamed.refusedTools).toEqual(whole.refusedTools)
    expect(whole.refusedTools[0]?.reason.length).toBeGreaterThan(10)
  })

  it.each([
    [
      'of the arguments of a call',
      {
        message: 'tool call validation failed: parameters for tool web_search did not match schema',
        param: '',
      },
    ],
    [
      'of a message',
      { message: "Invalid 'messages[3].content': string too long", param: 'messages[3].content' },
    ],
    [
      'of a tool that was not sent',
      { message: "Invalid schema for function 'other'", param: 'tools[99].function.parameters' },
    ],
    [
      'of the output format',
      { message: "Invalid schema for response_format 'tool_1'", param: 'response_format' },
    ],
    ['of the choice of a tool', { message: "Tool 'tool_1' not found in tools", param: 'tool_choice' }],
  ])('%s names none', (_, said) => expect(refusedTools(said, tools)).toEqual([]))

  it('with another status names none', async () => {
    const url = await serve(json({ error: { message: "Invalid schema for function 'tool_1'" } }, 500))
    expect((await failureOf(provider(url).chat(ask({ tools })))).refusedTools).toEqual([])
  })
})
