import { describe, expect, it } from 'vitest'
import { agents, graphOf } from '@beaver/testing'
import { graphWorkflow, knownTools, skillsOf } from '@beaver/workflows'
import { agentTeam } from '../agent-team/agent-team.ts'
import { groupChat } from '../group-chat/group-chat.ts'
import { hierarchicalWorkflow } from '../hierarchical/hierarchical-workflow.ts'

const [a, b] = agents('a', 'b')
const skilled = { ...b, use_skill: 'finance' }
const wanted = [{ agent: 'b', skill: 'finance' }]

describe('the skills a team is pinned to', () => {
  it.each([
    [
      'of nodes that are there',
      graphWorkflow.plan({ task: 't', agents: [a, skilled], edges: [['a', 'b']], output_agent: 'b' }),
    ],
    [
      'of workers nobody has delegated to',
      hierarchicalWorkflow.plan({ task: 't', manager: a, workers: [skilled] }),
    ],
    [
      'of speakers who have not spoken',
      groupChat.plan({ task: 't', agents: [a, skilled], stop_phrase: 'x' }),
    ],
    ['of a summarizer', groupChat.plan({ task: 't', agents: [a], stop_phrase: 'x', summarizer: skilled })],
    ['of members without work', agentTeam.plan({ message: 't', members: [a, skilled] })],
    ['of a coordinator', agentTeam.plan({ message: 't', members: [a], coordinator: skilled })],
  ])('are found: %s', (_, planned) => expect(skillsOf(graphOf(planned))).toEqual(wanted))
})

describe('a check that needs a tool that is not there', () => {
  const tools = knownTools(['read_file', 'web_fetch'], ['files'])
  const check = {
    required_evidence: ['Name a source.', { kind: 'tool_succeeded', tool: 'raed_file' }],
  }

  it('is refused for an agent that a team may add later', () => {
    expect(groupChat.plan({ task: 't', agents: [a, { ...b, ...check }] }, { tools })).toMatchObject({
      ok: false,
      error: { code: 'impossible_evidence' },
    })
  })

  it('is refused for a member of an AgentTeam', () => {
    const members = [
      { name: 'a', system_prompt: 'p' },
      { name: 'b', system_prompt: 'p', ...check },
    ]
    expect(agentTeam.plan({ members, message: 'm', strategy: 'broadcast' }, { tools })).toMatchObject({
      ok: false,
      error: { code: 'impossible_evidence', path: 'members.1.required_evidence.1.tool' },
    })
  })
})
