# What an application of Rails has around docs/examples/rails/place_order.rb:
#
#     DATABASE_URL=postgres://… ruby rails.rb PLACE_ORDER_RB 1 lamp

require "active_support/all"
require "active_record"

ActiveRecord::Base.establish_connection(ENV.fetch("DATABASE_URL"))

class ApplicationRecord < ActiveRecord::Base
  self.abstract_class = true
end

class Order < ApplicationRecord
end

service, order, item = ARGV
require service
begin
  sent, published = PlaceOrder.call(Integer(order), item)
  puts "order #{order} placed, messages #{sent} and #{published}"
rescue PlaceOrder::QueueFull, PlaceOrder::Conflict => error
  abort error.message
end
