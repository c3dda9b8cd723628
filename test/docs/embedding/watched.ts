import { AgentService, defineTool, z } from '@beaver/service'

const outbox: string[] = []
const sendMail = defineTool({
  name: 'send_mail',
  description: 'Sends a mail. Returns "sent".',
  input: z.strictObject({ to: z.email(), text: z.string() }),
  permission: 'ask',
  run: ({ to, text }) => {
    outbox.push(`${to}: ${text}`)
    return 'sent'
  },
})

await using service = new AgentService({
  tools: [sendMail],
  onApproval: ({ tool_name, subject }) =>
    subject.includes('@example.org') ? true : `${tool_name} may write to example.org only.`,
})
const patience = AbortSignal.timeout(120_000)
const { status } = await service.processDirect(
  'Call `send_mail` with {"to": "ada@example.org", "text": "The release is on Thursday."}.',
  {
    signal: patience,
    onDelta: ({ text }) => process.stderr.write(text),
    onEvent: ({ type }) => process.stderr.write(`[${type}] `),
  },
)
console.log(status, outbox)
