// The cards by which clients find agents: what an agent reads, its URL, and how a client authenticates. The
// public card does not reveal the profiles and workflows of this Beaver. Their cards need a token.
import type { AgentCard, AgentSkill } from '@a2a-js/sdk'
import type { DaemonStatus } from '@beaver/contracts'
import { agentsIn, defaultAgent, isWorkflow } from '../agents.ts'

/** The version of A2A that Beaver implements. */
export const spoken = '1.0'

/**
 * The extension by which a message with data decides about calls that wait for a person.
 * docs/how-to/use-agent-protocols.md describes it.
 */
const approvalsExtension = 'urn:beaver:a2a:approvals:1'

const jsonAndText = ['text/plain', 'application/json']

/**
 * The extension by which a message with data answers questions of calls. Without it, a text answers the
 * oldest question.
 */
const questionsExtension = 'urn:beaver:a2a:questions:1'

interface Place {
  readonly agent: string
  /** The origin of the app as the caller reached it, such as `https://beaver.example`. */
  readonly origin: string
}

const urlOf = ({ agent, origin }: Place): string => `${origin}/a2a/${encodeURIComponent(agent)}`

/** The card of an agent. */
export function agentCard(place: Place, skills: readonly AgentSkill[] = [askSkill]): AgentCard {
  const { agent } = place
  return {
    name: agent === defaultAgent ? 'Beaver' : agent,
    description: whatItIs(agent),
    supportedInterfaces: [
      { url: urlOf(place), protocolBinding: 'JSONRPC', tenant: '', protocolVersion: spoken },
    ],
    provider: undefined,
    version: '1',
    capabilities: {
      streaming: true,
      pushNotifications: false,
      extendedAgentCard: true,
      extensions: [
        {
          uri: approvalsExtension,
          description:
            'A part with data decides about a call of a tool: {"call_id": "…", "call_hash": "…", "approved": true}.',
          required: false,
          params: undefined,
        },
        {
          uri: questionsExtension,
          description:
            'A part with data answers a question of a call: {"call_id": "…", "question_index": 0, "answer": {"action": "accept", "answers": ["…"]}}. A text answers the first.',
          required: false,
          params: undefined,
        },
      ],
    },
    securitySchemes: {
      token: {
        scheme: {
          $case: 'httpAuthSecurityScheme',
          value: { scheme: 'Bearer', description: '"beaver token create" makes one.', bearerFormat: '' },
        },
      },
    },
    securityRequirements: [{ schemes: { token: { list: [] } } }],
    defaultInputModes: jsonAndText,
    defaultOutputModes: ['text/plain'],
    skills: [...skills],
    signatures: [],
  }
}

function whatItIs(agent: string): string {
  if (agent === defaultAgent) return 'An agent of Beaver, which may lead a team of agents.'
  return isWorkflow(agent)
    ? `The workflow ${agent.slice(agent.indexOf(':') + 1)} of Beaver: a team of agents. Send its arguments as data, or its one text.`
    : `The agent ${agent} of Beaver, which may lead a team of agents.`
}

const skill = (id: string, name: string, description: string, tag: string): AgentSkill => ({
  id,
  name,
  description,
  tags: [tag],
  examples: [],
  inputModes: [],
  outputModes: [],
  securityRequirements: [],
})

const askSkill = skill('ask', 'Ask', 'Works on what the message says, and answers in words.', 'task')

/**
 * The card for a caller with a token. It adds the skills of the agents; the card of the default agent also
 * lists the other agents and the URLs of their cards.
 */
export function extendedCard(place: Place, status: DaemonStatus): AgentCard {
  if (isWorkflow(place.agent)) return agentCard(place)
  const known = status.skills.map(({ name, description }) => skill(name, name, description, 'skill'))
  const others =
    place.agent === defaultAgent ? agentsIn(status).filter((agent) => agent !== defaultAgent) : []
  const cards = others.map((agent) =>
    skill(
      `agent:${agent}`,
      agent,
      `${whatItIs(agent)} Its card: ${urlOf({ ...place, agent })}/.well-known/agent-card.json`,
      'agent',
    ),
  )
  return agentCard(place, [askSkill, ...known, ...cards])
}
