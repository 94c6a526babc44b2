# Receives webhooks: verifies them, recognises repeats, and answers before it works.
#
# WEBHOOK_KEYS has the keys, whsec_… or whpk_…, separated by spaces: two while they are rotated. PORT is where it
# listens. With GONE=1 it wants no more webhooks, for good.

require "openssl"
require "webrick"

MAX_BYTES = 1 << 20
MAX_IDS = 100_000
TOLERANCE_SECONDS = 300
# What stands before the 32 bytes of a public key for ed25519 in X.509.
X509 = ["302a300506032b6570032100"].pack("H*")

def decode(text) = text.unpack1("m0")

# A function that says whether a key made a signature of a version for a content.
def verifier(key)
  case key
  when /\Awhsec_/
    secret = decode(key.delete_prefix("whsec_"))
    lambda do |content, version, signature|
      code = OpenSSL::HMAC.digest("SHA256", secret, content)
      version == "v1" && OpenSSL.secure_compare(code, signature)
    end
  when /\Awhpk_/
    public_key = OpenSSL::PKey.read(X509 + decode(key.delete_prefix("whpk_")))
    ->(content, version, signature) { version == "v1a" && public_key.verify(nil, signature, content) }
  else
    abort "WEBHOOK_KEYS: a key begins with whsec_ or whpk_"
  end
end

KEYS = ENV.fetch("WEBHOOK_KEYS").split.map { |key| verifier(key) }
GONE = ENV["GONE"] == "1"
SEEN = {}
LOCK = Mutex.new
WORK = Queue.new

# Whether one of our keys signed it, not more than five minutes ago.
def genuine?(request, body)
  id, timestamp = request["webhook-id"], request["webhook-timestamp"]
  return false if id.nil? || timestamp !~ /\A\d{1,12}\z/
  return false if (Time.now.to_i - timestamp.to_i).abs > TOLERANCE_SECONDS

  content = "#{id}.#{timestamp}.".b + body.b
  request["webhook-signature"].to_s.split.any? do |part|
    version, encoded = part.split(",", 2)
    signature = decode(encoded.to_s)
    KEYS.any? { |signed| signed.call(content, version, signature) }
  rescue ArgumentError, OpenSSL::PKey::PKeyError
    false
  end
end

# In a service with a database: insert the id into a table, in the transaction that stores the message.
def new?(id)
  LOCK.synchronize do
    next false if SEEN.key?(id)

    SEEN[id] = true
    SEEN.shift if SEEN.size > MAX_IDS
    true
  end
end

def receive(request)
  return 413 if request["content-length"].to_i > MAX_BYTES
  return 410 if GONE

  # The bytes as they came: JSON that was read and written again is another text.
  body = request.body.to_s
  return 413 if body.bytesize > MAX_BYTES
  return 401 unless genuine?(request, body)

  id = request["webhook-id"]
  WORK << "received #{id} #{body}" if new?(id)
  204
end

Thread.new { loop { puts WORK.pop } }
$stdout.sync = true
server = WEBrick::HTTPServer.new(
  Port: Integer(ENV.fetch("PORT")), BindAddress: "127.0.0.1", AccessLog: [], Logger: WEBrick::Log.new(File::NULL)
)
server.mount_proc("/") { |request, response| response.status = receive(request) }
puts "listening"
server.start
