// The adapter of Telegram without previews of links. With previews, Telegram would fetch each URL that an
// agent writes, and the preview would hide the text. The adapter has no option for this.
import { TelegramAdapter, type TelegramAdapterConfig } from '@chat-adapter/telegram'

const sending: ReadonlySet<string> = new Set(['sendMessage', 'sendRichMessage'])

class PlainTelegramAdapter extends TelegramAdapter {
  protected override telegramFetch<Result>(
    ...[method, payload, request]: Parameters<TelegramAdapter['telegramFetch']>
  ): Promise<Result> {
    const plain =
      sending.has(method) && !(payload instanceof FormData)
        ? { ...payload, link_preview_options: { is_disabled: true } }
        : payload
    return super.telegramFetch(method, plain, request)
  }
}

export const createTelegramAdapter = (config: TelegramAdapterConfig): TelegramAdapter =>
  new PlainTelegramAdapter(config)
