# Places an order and tells others about it, in one transaction. In a Rails application this is
# app/services/place_order.rb, and PlaceOrder.call(1, "lamp") calls it.
class PlaceOrder
  class QueueFull < StandardError; end
  class Conflict < StandardError; end

  SEND = "select postrider.send_with_options(:endpoint, :payload, p_idempotency_key => :key)"
  PUBLISH = <<~SQL
    select postrider.publish(:type, :payload,
        p_idempotency_key => :key,
        p_ordering_key => :key,
        p_priority => 5,
        p_headers => :headers,
        p_expires_at => :expires_at)
  SQL

  def self.call(order, item)
    payload = { order: order, item: item }.to_json
    ApplicationRecord.transaction do
      Order.insert({ id: order, item: item }, unique_by: :id)
      # Once for each order, however often this runs within 24 hours (idempotency_window).
      key = "order #{order}"
      # One endpoint.
      sent = ask(SEND, endpoint: "warehouse", payload: payload, key: key)
      # All who subscribe to the event.
      published = ask(PUBLISH,
        type: "order.placed",
        payload: payload,
        key: key,
        headers: { "x-tenant" => "acme" }.to_json,
        expires_at: 1.hour.from_now.iso8601)
      [sent, published]
    end
  rescue ActiveRecord::RecordNotUnique => error # 23505
    raise unless error.message.include?("Idempotency key")
    raise Conflict, "order #{order} was placed with another item"
  rescue ActiveRecord::StatementInvalid => error
    raise unless error.cause.is_a?(PG::ConfigurationLimitExceeded) # 53400
    raise QueueFull, "too many messages wait; try again later"
  end

  def self.ask(sql, **values)
    ApplicationRecord.connection.select_value(ApplicationRecord.sanitize_sql([sql, values]))
  end
  private_class_method :ask
end
