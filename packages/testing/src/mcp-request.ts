// A request of MCP over HTTP by the protocol of 2026, with tasks, which the SDK's client does not take yet.
const extension = 'io.modelcontextprotocol/tasks'
const version = '2026-07-28'

export interface McpAsked {
  readonly method: string
  readonly params: Record<string, unknown>
  /** Default: true. */
  readonly takesTasks?: boolean
  /** Further capabilities of the client. */
  readonly capabilities?: object
}

export async function mcpRequest(
  url: string,
  token: string,
  { method, params, takesTasks = true, capabilities = {} }: McpAsked,
): Promise<Record<string, unknown>> {
  const name = params['taskId'] ?? params['name']
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
      'mcp-protocol-version': version,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': version,
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {
            ...capabilities,
            ...(takesTasks ? { extensions: { [extension]: {} } } : {}),
          },
        },
      },
    }),
  })
  const text = await response.text()
  const data = text.startsWith('{') ? text : (/^data: (\{.*)$/m.exec(text)?.[1] ?? '{}')
  return JSON.parse(data) as Record<string, unknown>
}
