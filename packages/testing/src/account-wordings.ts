// Servers' words for an account without money, from the public threads beside them. Nothing is invented.
import type { Wording } from './overflow-wordings.ts'

const errorBody = (message: string, more: object = {}): object => ({ error: { message, ...more } })
const kimi =
  'Your account org-1 <ak-1> is suspended due to insufficient balance, please recharge your account or check your plan and billing details'
const xai =
  'Your team 1 has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.'

export const accountWordings: readonly Wording[] = [
  {
    server: 'OpenAI',
    status: 429,
    body: errorBody('You exceeded your current quota, please check your plan and billing details.', {
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    }),
    url: 'https://platform.openai.com/docs/guides/error-codes',
  },
  {
    server: 'Kimi',
    status: 429,
    body: errorBody(kimi, { type: 'exceeded_current_quota_error' }),
    url: 'https://github.com/MoonshotAI/kimi-code/pull/1857',
  },
  {
    server: 'Kimi, an account that was never paid for',
    status: 403,
    body: errorBody(
      'Your account x is not active, organization x exceeded current quota, please check your plan and billing details',
      {
        type: 'exceeded_current_quota_error',
      },
    ),
    url: 'https://github.com/MoonshotAI/Kimi-K2/issues/5',
  },
  {
    server: 'Kimi, in the words of a gateway',
    status: 429,
    body: errorBody('Error from provider: Provider returned error', {
      code: 429,
      metadata: { raw: JSON.stringify(errorBody(kimi)) },
    }),
    url: 'https://github.com/anomalyco/opencode/issues/24462',
  },
  {
    server: 'Zhipu',
    status: 429,
    body: errorBody('余额不足或无可用资源包,请充值。', { code: '1113' }),
    url: 'https://github.com/agentscope-ai/QwenPaw/issues/202',
  },
  {
    server: 'Z.ai',
    status: 429,
    body: errorBody('Insufficient balance or no resource package. Please recharge.', { code: '1113' }),
    url: 'https://github.com/7836246/cursor2api/issues/30',
  },
  {
    server: 'xAI',
    status: 429,
    body: { error: xai },
    url: 'https://github.com/continuedev/continue/issues/10373',
  },
  {
    server: 'xAI, newer',
    status: 403,
    body: { code: 'permission-denied', error: xai },
    url: 'https://github.com/Anantys-oss/koan/issues/2412',
  },
  {
    server: 'xAI, without a subscription',
    status: 403,
    body: { code: 'x', error: 'You have run out of credits or need a Grok subscription.' },
    url: 'https://github.com/Wei-Shaw/sub2api/issues/4069',
  },
  {
    server: 'MiniMax',
    status: 500,
    body: { type: 'error', ...errorBody('insufficient balance (1008)', { type: 'api_error' }) },
    url: 'https://github.com/MiniMax-AI/MiniMax-M2/issues/62',
  },
  {
    server: 'MiniMax, through ModelScope',
    status: 429,
    body: errorBody('insufficient balance (1008)', { http_code: '429', type: 'insufficient_balance_error' }),
    url: 'https://github.com/modelscope/modelscope/issues/1691',
  },
  {
    server: 'Anthropic',
    status: 400,
    body: {
      type: 'error',
      ...errorBody(
        'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
        {
          type: 'invalid_request_error',
        },
      ),
    },
    url: 'https://github.com/anthropics/claude-code/issues/4684',
  },
  {
    server: 'SiliconFlow',
    status: 403,
    body: {
      code: 30011,
      message:
        'The selected model requires paid balance. Your paid balance is insufficient. Please top up and try again.',
      data: null,
    },
    url: 'https://github.com/FoundationAgents/OpenManus/issues/438',
  },
  {
    server: 'Gemini, a model that the plan does not have',
    status: 429,
    body: errorBody(
      'You exceeded your current quota, please check your plan and billing details. \n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0, model: gemini-3-pro\nPlease retry in 10.673410956s.',
      { code: 429, status: 'RESOURCE_EXHAUSTED' },
    ),
    url: 'https://github.com/continuedev/continue/issues/9745',
  },
]
