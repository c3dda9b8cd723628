// The tools, resources and prompts whose names and answers the conformance suite of MCP fixes, as far as they
// need one request.
import {
  type CallToolResult,
  fromJsonSchema,
  type McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import { z } from 'zod'

const image = Buffer.from('GIF89a').toString('base64')
const audio = Buffer.from('RIFF').toString('base64')
const text = (said: string): CallToolResult => ({ content: [{ type: 'text', text: said }] })
const embedded = {
  type: 'resource' as const,
  resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'An embedded resource.' },
}
const picture = { type: 'image' as const, data: image, mimeType: 'image/gif' }

const answers: Readonly<Record<string, CallToolResult>> = {
  test_simple_text: text('This is a simple text response for testing.'),
  test_image_content: { content: [picture] },
  test_audio_content: { content: [{ type: 'audio', data: audio, mimeType: 'audio/wav' }] },
  test_embedded_resource: { content: [embedded] },
  test_multiple_content_types: { content: [{ type: 'text', text: 'Several kinds:' }, picture, embedded] },
  test_streaming_elicitation: text('The stream has the result alone.'),
}

/** Words of JSON Schema 2020-12 that must reach the client as they are. */
const largeSchema = fromJsonSchema({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
})

export function addPlainTools(server: McpServer): void {
  for (const [name, answer] of Object.entries(answers))
    server.registerTool(name, { description: name }, async () => answer)
  server.registerTool('test_error_handling', { description: 'Fails.' }, async () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
  server.registerTool(
    'test_logging_tool',
    { description: 'Logs.', inputSchema: z.object({}) },
    async (_, { mcpReq }) => {
      await mcpReq.log('info', 'It ran.')
      return text('It logged.')
    },
  )
  server.registerTool(
    'test_tool_with_logging',
    { description: 'Logs three times.', inputSchema: z.object({}) },
    async (_, { mcpReq }) => {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } })
      }
      return text('It logged.')
    },
  )
  server.registerTool(
    'test_tool_with_progress',
    { description: 'Tells its progress.', inputSchema: z.object({}) },
    async (_, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken
      for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken: progressToken ?? 0, progress, total: 100 },
        })
      }
      return text('Done.')
    },
  )
  server.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Has a large schema.', inputSchema: largeSchema },
    async (args) => text(JSON.stringify(args)),
  )
  const region = {
    type: 'string' as const,
    description: 'Mirrored in Mcp-Param-Region.',
    'x-mcp-header': 'Region',
  }
  server.registerTool(
    'test_x_mcp_header',
    {
      description: 'Mirrors an argument in a header.',
      inputSchema: fromJsonSchema({ type: 'object', properties: { region, level: { type: 'integer' } } }),
    },
    async (args) => text(JSON.stringify(args)),
  )
}

export function addResources(server: McpServer): void {
  const plain = (uri: string, said: string) => async () => ({
    contents: [{ uri, mimeType: 'text/plain', text: said }],
  })
  server.registerResource(
    'static-text',
    'test://static-text',
    { mimeType: 'text/plain' },
    plain('test://static-text', 'A text.'),
  )
  server.registerResource(
    'watched-resource',
    'test://watched-resource',
    { mimeType: 'text/plain' },
    plain('test://watched-resource', 'A text.'),
  )
  server.registerResource('static-binary', 'test://static-binary', { mimeType: 'image/gif' }, async () => ({
    contents: [{ uri: 'test://static-binary', mimeType: 'image/gif', blob: image }],
  }))
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined })
  server.registerResource('template', template, { mimeType: 'application/json' }, async (uri, { id }) => ({
    contents: [
      {
        uri: uri.toString(),
        mimeType: 'application/json',
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
      },
    ],
  }))
  server.server.setRequestHandler('resources/subscribe', async () => ({}))
  server.server.setRequestHandler('resources/unsubscribe', async () => ({}))
}

export function addPrompts(server: McpServer): void {
  const user = (content: { type: 'text'; text: string } | typeof picture | typeof embedded) => ({
    role: 'user' as const,
    content,
  })
  const said = (words: string) => user({ type: 'text', text: words })
  server.registerPrompt('test_simple_prompt', { description: 'A prompt.' }, async () => ({
    messages: [said('A simple prompt.')],
  }))
  server.registerPrompt('test_prompt_with_image', { description: 'A prompt.' }, async () => ({
    messages: [user(picture), said('What is it?')],
  }))
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'A prompt.', argsSchema: z.object({ arg1: z.string(), arg2: z.string() }) },
    async ({ arg1, arg2 }) => ({ messages: [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A prompt.', argsSchema: z.object({ resourceUri: z.string() }) },
    async ({ resourceUri }) => ({
      messages: [
        user({ ...embedded, resource: { ...embedded.resource, uri: resourceUri } }),
        said('Read it.'),
      ],
    }),
  )
  server.server.setRequestHandler('completion/complete', async () => ({
    completion: { values: [], total: 0, hasMore: false },
  }))
  server.server.setRequestHandler('logging/setLevel', async () => ({}))
}
