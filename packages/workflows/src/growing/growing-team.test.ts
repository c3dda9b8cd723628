import { describe, expect, it } from 'vitest'
import { agents, graphOf } from '../../test/kit.ts'
import { agentTeam, graphWorkflow, groupChat, hierarchicalWorkflow, skillsOf } from '../index.ts'

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
